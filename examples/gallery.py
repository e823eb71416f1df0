"""Draw a sheet of what the transforms of weft.vision do to a photo.

    python gallery.py                     a photo that comes with scikit-learn
    python gallery.py --photo cat.jpg     one of yours

Each tile is one call of a transform of the second version, with its name; the sheet is --out, a PNG.
"""

import argparse
from pathlib import Path

from PIL import Image, ImageDraw

import weft
from weft.vision.transforms import v2
from weft.vision.utils import make_grid

WIDTH, HEIGHT = 160, 112  # of a tile
COLUMNS = 6

GALLERY = [
    *(v2.Identity(), v2.RandomResizedCrop((HEIGHT, WIDTH), scale=(0.2, 0.5)), v2.RandomHorizontalFlip(p=1)),
    *(v2.RandomRotation(30), v2.RandomAffine(0, translate=(0.2, 0.2), shear=25), v2.RandomPerspective(0.6, p=1)),
    *(
        v2.ElasticTransform(alpha=80.0),
        v2.RandomZoomOut(fill=128, side_range=(1.5, 2.0), p=1),
        v2.CenterCrop((70, 100)),
    ),
    *(v2.ColorJitter(0.5, 0.5, 0.5, 0.3), v2.Grayscale(3), v2.RandomPhotometricDistort(p=1)),
    *(v2.RandomChannelPermutation(), v2.RandomInvert(p=1), v2.RandomPosterize(2, p=1)),
    *(v2.RandomSolarize(128, p=1), v2.RandomEqualize(p=1), v2.RandomAutocontrast(p=1)),
    *(v2.GaussianBlur(9, 4.0), v2.RandomAdjustSharpness(8, p=1), v2.JPEG(5)),
    *(v2.RandAugment(magnitude=15), v2.TrivialAugmentWide(), v2.AugMix()),
]


def load_photo(path):
    """A photo as a uint8 tensor of shape (3, HEIGHT, WIDTH)."""
    if path is None:
        from sklearn.datasets import load_sample_image

        picture = Image.fromarray(load_sample_image("flower.jpg"))
    else:
        picture = Image.open(path).convert("RGB")
    return v2.Compose([v2.ToImage(), v2.Resize(HEIGHT), v2.CenterCrop((HEIGHT, WIDTH))])(picture)


def titled(tile, name):
    """The tile on a background of its size, with a name below."""
    picture = Image.new("RGB", (WIDTH, HEIGHT + 14), "white")
    picture.paste(v2.functional.to_pil_image(v2.functional.resize(tile, [HEIGHT, WIDTH])))
    ImageDraw.Draw(picture).text((4, HEIGHT + 1), name, fill="black")
    return v2.functional.pil_to_tensor(picture)


def main():
    summary, _, detail = __doc__.partition("\n\n")
    parser = argparse.ArgumentParser(
        description=summary, epilog=detail, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--photo", type=Path, help="the picture (default: scikit-learn's flower)")
    parser.add_argument("--out", type=Path, default=Path("runs/gallery.png"), help="the sheet (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=0, help="of the transforms (default: 0)")
    arguments = parser.parse_args()
    weft.manual_seed(arguments.seed)
    photo = load_photo(arguments.photo)
    tiles = [titled(transform(photo), type(transform).__name__) for transform in GALLERY]
    sheet = make_grid(tiles, nrow=COLUMNS, padding=4, pad_value=255)
    arguments.out.parent.mkdir(parents=True, exist_ok=True)
    v2.functional.to_pil_image(sheet).save(arguments.out)
    print(f"{len(tiles)} transforms in {arguments.out}")


if __name__ == "__main__":
    main()
