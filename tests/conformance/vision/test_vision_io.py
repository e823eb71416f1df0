"""Pictures are decoded and encoded as by torchvision: every mode of every kind of file, bytes and errors by type.

Two corners of torchvision's are not followed. The alpha of a palette's colours and of single bits, and the numbers of
colours of less than 8 bits, it reads from memory that nothing has written. And a GIF file's frame that gives way to the
one before it stays.
"""

import io as memory
import struct
import zlib
from typing import Any

import numpy as np
import pytest
from PIL import Image

pytest.importorskip("torch", reason="PyTorch, the oracle, is installed in the conformance environment only")

import torch
from tests.conformance.vision.oracle import torchvision

import weft
from weft.vision import io as ours

pytestmark = [
    pytest.mark.filterwarnings("ignore"),  # of either library: not the claim here
    pytest.mark.skipif(not hasattr(torch.ops.image, "decode_png"), reason="torchvision's codecs did not load"),
]
theirs = torchvision.io
MODES = ("UNCHANGED", "GRAY", "GRAY_ALPHA", "RGB", "RGB_ALPHA")


def smooth(channels: int, most: int = 255, step: int = 1) -> Any:
    """Pixels (20, 24, channels) that a lossy codec keeps well."""
    rows, columns = np.mgrid[0:20, 0:24]
    waves = [(np.sin(columns / 5 + k) + np.cos(rows / 4 + k) + 2) / 4 * most for k in range(channels)]
    noise = np.random.default_rng(0).uniform(0, most / 20, (20, 24, channels))
    pixels = (np.stack(waves, -1) + noise).clip(0, most).astype(np.uint8 if most == 255 else np.uint16)
    return pixels // step * step


def saved(image: Any, kind: str, **options: Any) -> bytes:
    buffer = memory.BytesIO()
    image.save(buffer, kind, **options)
    return buffer.getvalue()


def png_of_16_bits(channels: int) -> bytes:
    def chunk(name: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))

    pixels = smooth(channels, 65535)
    header = struct.pack(">IIBBBBB", 24, 20, 16, {1: 0, 2: 4, 3: 2, 4: 6}[channels], 0, 0, 0)
    lines = b"".join(b"\0" + row.astype(">u2").tobytes() for row in pixels)
    parts = chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(lines)) + chunk(b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + parts


def files() -> dict[str, bytes]:
    """Files by name; its first part says which decoder is theirs."""
    found = {"jpeg cmyk": saved(Image.fromarray(smooth(4), "CMYK"), "JPEG")}
    for channels, mode in enumerate(("L", "LA", "RGB", "RGBA"), 1):
        image = Image.fromarray(smooth(channels).squeeze(-1) if channels == 1 else smooth(channels))
        found[f"png {mode}"] = saved(image, "PNG")
        found[f"png 16 bits {mode}"] = png_of_16_bits(channels)
        if channels in (1, 3):
            found[f"jpeg {mode}"] = saved(image, "JPEG")
        found[f"webp {mode}"] = saved(image.convert("RGB" if channels % 2 else "RGBA"), "WEBP", lossless=True)
    rgb = Image.fromarray(smooth(3))
    found["png 1"] = saved(Image.fromarray(smooth(1)[:, :, 0] > 127), "PNG")
    found["png palette"] = saved(rgb.quantize(200), "PNG")
    found["png palette with alpha"] = saved(rgb.quantize(200), "PNG", transparency=3)
    found["png small palette"] = saved(rgb.quantize(16), "PNG")
    found["png transparent colour"] = saved(Image.fromarray(smooth(3, step=64)), "PNG", transparency=(64, 128, 128))
    found["png transparent gray"] = saved(Image.fromarray(smooth(1, step=64)[:, :, 0]), "PNG", transparency=64)
    frames = [Image.fromarray(np.ascontiguousarray(smooth(3)[:: 1 - 2 * (k % 2), :: 1 - k // 2 * 2])) for k in range(4)]
    found["gif one"] = saved(rgb, "GIF")
    found["gif four"] = saved(frames[0], "GIF", save_all=True, append_images=frames[1:])
    for disposal in (0, 1, 2):
        parts = [Image.new("RGBA", (24, 20), (0, 0, 0, 0)) for _ in range(4)]
        for k, part in enumerate(parts):
            part.paste((255 * (k % 2), 80 * k, 40), (2 * k, 3 * k, 2 * k + 8, 3 * k + 6))
        found[f"gif disposal {disposal}"] = saved(
            parts[0], "GIF", save_all=True, append_images=parts[1:], disposal=disposal
        )
    for orientation in range(1, 9):
        exif = Image.Exif()
        exif[0x0112] = orientation
        found[f"jpeg turned {orientation}"] = saved(rgb, "JPEG", exif=exif)
        found[f"png turned {orientation}"] = saved(rgb, "PNG", exif=exif)
    for name in ("png RGB", "jpeg RGB", "webp RGB", "gif four"):
        found[f"{name} cut"] = found[name][: len(found[name]) // 2]
    junk = b"abc" * 30
    found |= {"png junk": junk, "jpeg junk": b"\xff\xd8" + junk, "webp junk": b"RIFFabcdWEBP" + junk}
    return found | {"gif junk": b"GIF89a1111", "image bmp": saved(rgb, "BMP"), "image junk": junk}


def outcome(library: Any, tensor: Any, name: str, options: dict[str, Any]) -> Any:
    try:
        return getattr(library, name)(tensor, **options).numpy()
    except Exception as error:
        return type(error)


def followed(name: str, mode: str) -> bool:
    if name == "png small palette":
        return mode in ("GRAY", "RGB")
    return name not in ("png 1", "png palette") or not mode.endswith("ALPHA")


@pytest.mark.parametrize("name", files())
def test_a_file_is_decoded_as_by_torchvision(name: str) -> None:
    content, kind = files()[name], name.partition(" ")[0]
    for decoder in {f"decode_{kind}", "decode_image"}:
        for mode in MODES:
            if not followed(name, mode):
                continue
            for upright in (False, True):
                options: dict[str, Any] = {} if decoder == "decode_gif" else {"mode": mode}
                if decoder not in ("decode_gif", "decode_webp"):
                    options["apply_exif_orientation"] = upright
                expected = outcome(theirs, torch.frombuffer(bytearray(content), dtype=torch.uint8), decoder, options)
                found = outcome(ours, weft.frombuffer(bytearray(content), dtype=weft.uint8), decoder, options)
                if isinstance(expected, type) or isinstance(found, type):
                    assert found is expected, (decoder, options)
                    continue
                assert (found.dtype, found.shape) == (expected.dtype, expected.shape), (decoder, options)
                assert np.array_equal(found, expected), (decoder, options)


@pytest.mark.parametrize("channels", [1, 3])
def test_files_are_written_as_by_torchvision(channels: int, tmp_path: Any) -> None:
    pixels = np.ascontiguousarray(np.moveaxis(smooth(channels), -1, 0))
    for quality in (1, 40, 75, 100):
        expected = theirs.encode_jpeg(torch.from_numpy(pixels), quality).numpy()
        assert np.array_equal(ours.encode_jpeg(weft.from_numpy(pixels), quality).numpy(), expected)
    for level in (0, 9):
        found = ours.encode_png(weft.from_numpy(pixels), level).numpy()
        assert np.array_equal(theirs.decode_png(torch.from_numpy(found)).numpy(), pixels)
    ours.write_jpeg(weft.from_numpy(pixels), tmp_path / "ours.jpg")
    theirs.write_jpeg(torch.from_numpy(pixels), str(tmp_path / "theirs.jpg"))
    assert (tmp_path / "ours.jpg").read_bytes() == (tmp_path / "theirs.jpg").read_bytes()
    ours.write_png(weft.from_numpy(pixels), tmp_path / "ours.png")
    assert np.array_equal(theirs.read_image(str(tmp_path / "ours.png")).numpy(), pixels)


def test_lists_are_decoded_and_encoded_one_by_one() -> None:
    pixels = [np.ascontiguousarray(np.moveaxis(smooth(channels), -1, 0)) for channels in (1, 3)]
    expected = theirs.decode_jpeg(theirs.encode_jpeg([torch.from_numpy(each) for each in pixels]))
    found = ours.decode_jpeg(ours.encode_jpeg([weft.from_numpy(each) for each in pixels]))
    assert all(np.array_equal(a.numpy(), b.numpy()) for a, b in zip(found, expected, strict=True))


WRONG = [
    lambda t, io: io.decode_image(t.zeros(0, dtype=t.uint8)),
    lambda t, io: io.decode_image(t.zeros(3, 3, dtype=t.uint8)),
    lambda t, io: io.decode_png(t.zeros(30)),
    lambda t, io: io.decode_jpeg([]),
    lambda t, io: io.decode_jpeg([3]),
    lambda t, io: io.decode_jpeg(t.zeros(30, dtype=t.uint8), mode="other"),
    lambda t, io: io.encode_png(t.zeros(3, 4, 4)),
    lambda t, io: io.encode_png(t.zeros(4, 4, dtype=t.uint8)),
    lambda t, io: io.encode_png(t.zeros(2, 4, 4, dtype=t.uint8)),
    lambda t, io: io.encode_png(t.zeros(3, 4, 4, dtype=t.uint8), compression_level=-1),
    lambda t, io: io.encode_png(t.zeros(3, 4, 4, dtype=t.uint8), compression_level=10),
    lambda t, io: io.encode_jpeg(t.zeros(3, 4, 4, dtype=t.uint8), quality=0),
    lambda t, io: io.encode_jpeg(t.zeros(3, 4, 4, dtype=t.uint8), quality=101),
    lambda t, io: io.encode_jpeg([]),
    lambda t, io: io.encode_jpeg(t.zeros(3, 4, 4)),
    lambda t, io: io.encode_jpeg(t.zeros(4, 4, 4, dtype=t.uint8)),
    lambda t, io: io.encode_jpeg(t.zeros(4, 4, dtype=t.uint8)),
    lambda t, io: io.read_file("missing"),
    lambda t, io: io.write_file("missing/file", t.zeros(3, dtype=t.uint8)),
    lambda t, io: io.write_file("missing", t.zeros(3)),
    lambda t, io: io.write_png(t.zeros(3, 4, 4, dtype=t.uint8), "missing/file"),
]


@pytest.mark.parametrize("number", range(len(WRONG)))
def test_a_wrong_call_raises_torchvisions_error(number: int) -> None:
    with pytest.raises(Exception) as expected:
        WRONG[number](torch, theirs)
    with pytest.raises(Exception) as found:
        WRONG[number](weft, ours)
    assert found.type is expected.type, (str(expected.value), str(found.value))


def test_all_names_are_there() -> None:
    assert set(theirs.__all__) <= set(dir(ours))
    assert {mode.name: mode.value for mode in ours.ImageReadMode} == {
        each.name: each.value for each in theirs.ImageReadMode
    }
