"""Train a detector to find shapes in pictures that the program draws, and draw what it finds.

    python detection.py                 about a minute and a half on two cores
    python detection.py --steps 20      a look

The detector is FCOS with a small backbone. A training picture and its boxes are flipped, zoomed and recoloured together
by transforms of the second version; --out shows the truth in white and what is found in colour.
"""

import argparse
from pathlib import Path

from PIL import Image, ImageDraw

import weft
from weft import nn
from weft.utils.data import DataLoader, Dataset
from weft.vision import tv_tensors
from weft.vision.models.detection import FCOS
from weft.vision.models.detection.anchor_utils import AnchorGenerator
from weft.vision.ops import box_iou
from weft.vision.transforms import v2
from weft.vision.utils import draw_bounding_boxes, make_grid, save_image

SIZE = 64
NAMES = ["background", "disc", "square"]
COLOURS = ["black", "orange", "deepskyblue"]


class Shapes(Dataset):
    """Discs and squares in random places: samples are (image, {"boxes", "labels"})."""

    def __init__(self, count, seed, transforms=None):
        self.count, self.seed, self.transforms = count, seed, transforms

    def __len__(self):
        return self.count

    def __getitem__(self, index):
        generator = weft.Generator().manual_seed(1000 * self.seed + index)

        def draw(low, high):
            return int(weft.randint(low, high, (1,), generator=generator))

        picture = Image.new("RGB", (SIZE, SIZE), (draw(0, 90), draw(0, 90), draw(0, 90)))
        canvas, boxes, labels = ImageDraw.Draw(picture), [], []
        for _ in range(draw(1, 4)):
            side, label = draw(14, 30), draw(1, 3)
            left, top = draw(0, SIZE - side), draw(0, SIZE - side)
            box = (left, top, left + side, top + side)
            shape = canvas.ellipse if label == 1 else canvas.rectangle
            shape(box, fill=(draw(120, 256), draw(120, 256), draw(120, 256)))
            boxes.append(box)
            labels.append(label)
        target = {
            "boxes": tv_tensors.BoundingBoxes(boxes, format="XYXY", canvas_size=(SIZE, SIZE), dtype=weft.float32),
            "labels": weft.tensor(labels),
        }
        image = tv_tensors.Image(picture)
        return (image, target) if self.transforms is None else self.transforms(image, target)


def build_model():
    """FCOS on one level of features, a cell for every eight pixels."""
    layers = []
    for channels, wider in ((3, 24), (24, 48), (48, 64)):
        layers += [nn.Conv2d(channels, wider, 3, 2, 1, bias=False), nn.BatchNorm2d(wider), nn.ReLU()]
    backbone = nn.Sequential(*layers, nn.Conv2d(64, 64, 3, padding=1), nn.ReLU())
    backbone.out_channels = 64
    anchors = AnchorGenerator(sizes=((8,),), aspect_ratios=((1.0,),))
    return FCOS(
        backbone,
        num_classes=len(NAMES),
        anchor_generator=anchors,
        min_size=SIZE,
        max_size=SIZE,
        center_sampling_radius=2.0,
        score_thresh=0.3,
        detections_per_img=20,
    )


def collate(samples):
    return [list(each) for each in zip(*samples, strict=True)]


def train(model, pictures, steps):
    optimizer = weft.optim.AdamW(model.parameters(), lr=1e-3)
    schedule = weft.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=2e-3, total_steps=steps)
    loader = DataLoader(pictures, batch_size=8, shuffle=True, collate_fn=collate)
    step = 0
    while step < steps:
        for images, targets in loader:
            losses = model(images, targets)  # in training a detector returns its losses
            loss = sum(losses.values())
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            schedule.step()
            step += 1
            if step % 20 == 0 or step == steps:
                print(f"step {step:4}  loss {loss.item():.3f}")
            if step == steps:
                return


@weft.no_grad()
def found_share(model, pictures):
    """The share of shapes that a box of their class covers by more than half."""
    model.eval()
    found = total = 0
    for index in range(len(pictures)):
        image, target = pictures[index]
        (prediction,) = model([image])
        overlap = box_iou(target["boxes"], prediction["boxes"])
        right = (overlap > 0.5) & (target["labels"][:, None] == prediction["labels"][None])
        found += int(right.any(1).sum()) if right.numel() else 0
        total += len(target["labels"])
    return 100 * found / total


@weft.no_grad()
def draw(model, pictures, path):
    sheets = []
    for image, target in pictures:
        (prediction,) = model([image])
        labels = prediction["labels"].tolist()
        sheet = draw_bounding_boxes((image * 255).to(weft.uint8), target["boxes"], colors="white")
        if labels:
            names, colours = [NAMES[label] for label in labels], [COLOURS[label] for label in labels]
            sheet = draw_bounding_boxes(sheet, prediction["boxes"], names, colours)
        sheets.append(sheet.float() / 255)
    path.parent.mkdir(parents=True, exist_ok=True)
    save_image(make_grid(sheets, nrow=4), path)


def main():
    summary, _, detail = __doc__.partition("\n\n")
    parser = argparse.ArgumentParser(
        description=summary, epilog=detail, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--steps", type=int, default=300, help="of the optimizer (default: 300)")
    parser.add_argument("--seed", type=int, default=0, help="of weights and order (default: 0)")
    parser.add_argument("--out", type=Path, default=Path("runs/detection.png"), help="(default: %(default)s)")
    arguments = parser.parse_args()
    weft.manual_seed(arguments.seed)
    to_float = v2.ToDtype(weft.float32, scale=True)
    changes = [v2.RandomHorizontalFlip(), v2.RandomZoomOut(side_range=(1.0, 1.5), p=0.3), v2.Resize((SIZE, SIZE))]
    augmented = v2.Compose([*changes, v2.RandomPhotometricDistort(), v2.SanitizeBoundingBoxes(), to_float])
    train_set, test_set = Shapes(400, 1, augmented), Shapes(24, 2, to_float)
    model = build_model()
    train(model, train_set, arguments.steps)
    print(f"found {found_share(model, test_set):.0f} % of the shapes in {len(test_set)} new pictures")
    draw(model, [test_set[index] for index in range(8)], arguments.out)
    print(f"the first eight are in {arguments.out}")


if __name__ == "__main__":
    main()
