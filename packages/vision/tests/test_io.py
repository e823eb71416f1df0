"""Pictures in files and in memory."""

import numpy as np
import pytest
from PIL import Image

import weft
from weft.vision import io


def picture(channels=3):
    return weft.from_numpy(np.arange(channels * 5 * 7, dtype=np.uint8).reshape(channels, 5, 7))


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


def test_a_picture_is_turned_upright_when_asked(tmp_path):
    """Transformers asks for it (torchvision.io.decode_image) when it loads a picture."""
    path = tmp_path / "turned.jpg"
    exif = Image.Exif()
    exif[0x0112] = 6  # turned to the left
    Image.fromarray(np.zeros((4, 9, 3), np.uint8)).save(path, exif=exif)
    assert io.read_image(path).shape == (3, 4, 9)
    assert io.read_image(path, apply_exif_orientation=True).shape == (3, 9, 4)


def test_what_is_no_picture_is_refused(tmp_path):
    with pytest.raises(RuntimeError, match="no picture in a format"):
        io.decode_image(weft.zeros(20, dtype=weft.uint8))
    with pytest.raises(FileNotFoundError):
        io.read_image(tmp_path / "missing.png")
