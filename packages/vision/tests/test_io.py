"""Pictures and videos in files and in memory."""

import io as memory
import struct
import sys
import zlib

import numpy as np
import pytest
from PIL import Image, ImageOps

import weft
from weft.vision import io


def picture(channels=3):
    return weft.from_numpy(np.arange(channels * 5 * 7, dtype=np.uint8).reshape(channels, 5, 7))


def saved(image, kind, **options):
    """The bytes of a file of a PIL image, as a tensor."""
    buffer = memory.BytesIO()
    image.save(buffer, kind, **options)
    return weft.frombuffer(bytearray(buffer.getvalue()), dtype=weft.uint8)


def png_of_16_bits(pixels):
    """A PNG file of uint16 pixels (H, W, C), by the format's specification."""

    def chunk(name, data):
        return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))

    height, width, channels = pixels.shape
    header = struct.pack(">IIBBBBB", width, height, 16, {1: 0, 2: 4, 3: 2, 4: 6}[channels], 0, 0, 0)
    lines = b"".join(b"\0" + row.astype(">u2").tobytes() for row in pixels)
    parts = chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(lines)) + chunk(b"IEND", b"")
    return weft.frombuffer(bytearray(b"\x89PNG\r\n\x1a\n" + parts), dtype=weft.uint8)


@pytest.mark.parametrize("channels", [1, 3])
def test_png_files_hold_the_pixels(tmp_path, channels):
    path = str(tmp_path / "picture.png")
    io.write_png(picture(channels), path)
    assert weft.equal(io.read_image(path), picture(channels))
    assert weft.equal(io.decode_image(io.read_file(path)), picture(channels))
    assert io.decode_image(path, mode="RGB_ALPHA").shape == (4, 5, 7)
    assert io.decode_image(path, mode=io.ImageReadMode.GRAY).shape == (1, 5, 7)


def test_jpeg_is_near_by_its_quality():
    smooth = weft.arange(64, dtype=weft.uint8).reshape(1, 8, 8).expand(3, 8, 8)
    found = io.decode_jpeg(io.encode_jpeg(smooth, quality=95))
    assert (found.int() - smooth.int()).abs().max() < 8
    assert [each.shape for each in io.decode_jpeg(io.encode_jpeg([smooth, smooth[:1]]))] == [(3, 8, 8), (1, 8, 8)]


@pytest.mark.parametrize("channels", [1, 2, 3, 4])
def test_png_files_of_16_bits_keep_them(channels):
    pixels = np.random.default_rng(0).integers(0, 1 << 16, (4, 5, channels), dtype=np.uint16)
    found = io.decode_png(png_of_16_bits(pixels))
    assert found.dtype is weft.uint16
    assert np.array_equal(found.numpy(), np.moveaxis(pixels, -1, 0))
    alpha = io.decode_png(png_of_16_bits(pixels), mode="RGB_ALPHA").numpy()
    assert alpha.shape == (4, 4, 5)
    assert channels in (2, 4) or (alpha[3] == 65535).all()


@pytest.mark.parametrize("orientation", range(1, 9))
@pytest.mark.parametrize("kind", ["JPEG", "PNG"])
def test_a_picture_is_turned_upright_when_asked(kind, orientation):
    """Transformers asks for it (torchvision.io.decode_image) when it loads a picture."""
    exif = Image.Exif()
    exif[0x0112] = orientation
    image = Image.fromarray(np.arange(4 * 9 * 3, dtype=np.uint8).reshape(4, 9, 3) * 2)
    data = saved(image, kind, exif=exif)
    assert io.decode_image(data).shape == (3, 4, 9)
    upright = ImageOps.exif_transpose(Image.open(memory.BytesIO(data.numpy().tobytes())))
    found = io.decode_image(data, apply_exif_orientation=True)
    assert np.array_equal(found.numpy(), np.moveaxis(np.asarray(upright), -1, 0))


def test_gif_files_of_several_pictures_are_batches():
    frames = [Image.new("RGB", (6, 4), color) for color in ("red", "blue", "lime")]
    found = io.decode_gif(saved(frames[0], "GIF", save_all=True, append_images=frames[1:]))
    assert found.shape == (3, 3, 4, 6)
    assert found[:, :, 0, 0].tolist() == [[255, 0, 0], [0, 0, 255], [0, 255, 0]]
    assert io.decode_image(saved(frames[0], "GIF"), mode="GRAY").shape == (3, 4, 6)


def test_webp_files_stay_in_colour():
    data = saved(Image.new("RGB", (6, 4), "red"), "WEBP", lossless=True)
    assert io.decode_webp(data, "rgba")[:, 0, 0].tolist() == [255, 0, 0, 255]
    with pytest.warns(UserWarning, match="decoded in colour"):
        assert io.decode_webp(data, "GRAY").shape == (3, 4, 6)


def test_a_palette_is_written_out_when_asked():
    image = Image.fromarray(np.arange(60, dtype=np.uint8).reshape(4, 5, 3)).quantize(8)
    colors = io.decode_png(saved(image, "PNG"), "RGB").permute(1, 2, 0).numpy()
    assert np.array_equal(colors, np.asarray(image.convert("RGB")))
    assert np.array_equal(io.decode_png(saved(image, "PNG"))[0].numpy(), np.asarray(image))
    assert sorted(set(io.decode_png(saved(image, "PNG", transparency=2), "RGB_ALPHA")[3].flatten().tolist())) == [
        0,
        255,
    ]


def test_inks_are_as_in_the_file():
    image = Image.new("CMYK", (8, 8), (255, 0, 0, 0))
    assert io.decode_jpeg(saved(image, "JPEG"), "RGB")[0].max() < 3  # no red in cyan
    assert io.decode_jpeg(saved(image, "JPEG")).shape == (4, 8, 8)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: io.decode_image(weft.zeros(20, dtype=weft.uint8)), RuntimeError, "Unsupported image file"),
        (lambda: io.decode_png(io.encode_jpeg(picture())), RuntimeError, "Content is not png"),
        (lambda: io.decode_png(io.encode_png(picture())[:50]), RuntimeError, "truncated|damage"),
        (lambda: io.decode_png(io.encode_png(picture())[:7]), RuntimeError, "too small for png"),
        (lambda: io.decode_webp(io.encode_png(picture())), RuntimeError, "WebPGetFeatures failed"),
        (lambda: io.decode_jpeg(io.encode_jpeg(picture())[:200]), RuntimeError, "truncated|damage|Out of bound read"),
        (lambda: io.decode_jpeg(io.encode_jpeg(picture()), "RGB_ALPHA"), RuntimeError, "not supported for JPEG"),
        (lambda: io.decode_jpeg([]), ValueError, "at least one element"),
        (lambda: io.decode_jpeg([1]), ValueError, "must be tensors"),
        (lambda: io.decode_image(weft.zeros(4, 4, dtype=weft.uint8)), RuntimeError, "non empty 1-dimensional"),
        (lambda: io.decode_image(weft.zeros(4)), RuntimeError, "Expected a torch.uint8 tensor"),
        (lambda: io.encode_png(picture(2)), RuntimeError, "channels should be 1 or 3"),
        (lambda: io.encode_png(picture().float()), RuntimeError, "should be uint8"),
        (lambda: io.encode_png(picture()[0]), RuntimeError, "3-dimensional"),
        (lambda: io.encode_png(picture(), 10), RuntimeError, "between 0 and 9"),
        (lambda: io.encode_jpeg(picture(), 0), ValueError, "between 1 and 100"),
        (lambda: io.encode_jpeg([]), ValueError, "at least one input tensor"),
        (lambda: io.read_image("missing.png"), RuntimeError, "No such file or directory: 'missing.png'"),
        (lambda: io.write_png(picture(), "missing/picture.png"), RuntimeError, "No such file or directory"),
    ],
)
def test_what_is_wrong_is_refused(call, error, message):
    with pytest.raises(error, match=message):
        call()


def test_an_empty_file_is_refused(tmp_path):
    (tmp_path / "empty").touch()
    with pytest.raises(RuntimeError, match="non empty file"):
        io.read_file(tmp_path / "empty")


def test_what_brings_a_missing_codec_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "av", None)
    monkeypatch.setitem(sys.modules, "pillow_heif", None)
    with pytest.raises(ImportError, match=r"pip install 'weft-vision\[video\]'"):
        io.read_video("video.mp4")
    with pytest.raises(RuntimeError, match="pip install pillow-heif"):
        io.decode_heic(weft.ones(4, dtype=weft.uint8))


@pytest.fixture
def video(tmp_path):
    """A file of 12 frames at 10 a second, without loss, and a second of sound; the frames."""
    pytest.importorskip("av", reason="PyAV is an extra")
    rows, columns = np.mgrid[0:32, 0:48]
    frames = np.stack([np.stack([columns * 3 + t, rows * 4, rows * 0 + t * 20], -1) for t in range(12)])
    frames, path = weft.from_numpy(frames.astype(np.uint8)), tmp_path / "video.mkv"
    sound = weft.sin(weft.arange(24000) / 20)[None]
    io.write_video(path, frames, 10, "libx264rgb", {"crf": "0"}, sound, 24000, "aac")
    return path, frames


def test_a_video_has_its_frames_and_sound(video):
    path, frames = video
    found, sound, info = io.read_video(path)
    assert weft.equal(found, frames)
    assert (sound.shape[0], info) == (1, {"video_fps": 10.0, "audio_fps": 24000})
    assert abs(sound.shape[1] - 24000) < 2048  # whole frames of the codec
    part, sound, _ = io.read_video(path, 0.25, 0.6, "sec", "TCHW")
    assert weft.equal(part.permute(0, 2, 3, 1), frames[3:7])
    assert sound.shape[1] == 0.35 * 24000


def test_the_times_of_frames(video):
    path, frames = video
    times, rate = io.read_video_timestamps(path, "sec")
    assert ([float(each) for each in times], rate) == ([each / 10 for each in range(12)], 10.0)
    reader = io.VideoReader(path)
    assert weft.equal(next(reader)["data"].permute(1, 2, 0), frames[0])
    after = next(reader.seek(0.35))
    assert (after["pts"], weft.equal(after["data"].permute(1, 2, 0), frames[4])) == (0.4, True)
    assert reader.get_metadata()["video"]["fps"] == [10.0]
    assert next(io.VideoReader(path.read_bytes(), "audio"))["data"].shape[1] == 1


def test_what_is_wrong_with_a_video_is_said(video, tmp_path):
    (tmp_path / "text").write_text("no video")
    for call, error, message in (
        (lambda: io.read_video(tmp_path / "missing.mp4"), RuntimeError, "File not found"),
        (lambda: io.read_video(tmp_path / "text"), RuntimeError, "no video"),
        (lambda: io.read_video(video[0], 5, 2), ValueError, "larger than start_pts"),
        (lambda: io.read_video(video[0], output_format="CTHW"), ValueError, "THWC"),
        (lambda: io.read_video_timestamps(video[0], "frames"), ValueError, "pts_unit"),
        (lambda: io.VideoReader(video[0], "video:1"), RuntimeError, "no stream"),
    ):
        with pytest.raises(error, match=message):
            call()
