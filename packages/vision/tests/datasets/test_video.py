"""Clips of real videos, decoded by PyAV."""

from fractions import Fraction

import numpy as np
import pytest

from weft.vision.datasets import UCF101, wrap_dataset_for_transforms_v2
from weft.vision.datasets.video_utils import VideoClips

av = pytest.importorskip("av", reason="PyAV decodes videos")

SIZE, FPS, RATE = (16, 32), 10, 8000


@pytest.fixture
def video(tmp_path):
    """A second and a half of frames that grow brighter, 10 levels each, with a tone in the sound."""
    path = tmp_path / "Archery" / "v.avi"
    path.parent.mkdir()
    with av.open(str(path), "w") as container:
        stream = container.add_stream("ffv1", rate=FPS)  # without loss
        stream.height, stream.width = SIZE
        stream.pix_fmt = "gray"
        sound = container.add_stream("pcm_s16le", rate=RATE, layout="mono")
        for number in range(15):
            pixels = np.full(SIZE, 10 * number, np.uint8)
            frame = av.VideoFrame.from_ndarray(pixels, format="gray")
            container.mux(stream.encode(frame))
            part = av.AudioFrame.from_ndarray(np.full((1, RATE // FPS), 1000 * number, np.int16), "s16", "mono")
            part.sample_rate, part.time_base, part.pts = RATE, Fraction(1, RATE), number * RATE // FPS
            container.mux(sound.encode(part))
        container.mux(stream.encode(None))
        container.mux(sound.encode(None))
    return path


def test_clips_have_their_frames_and_their_sound(video):
    clips = VideoClips([str(video)], 4, 3)
    assert (clips.num_clips(), clips.video_fps) == (4, [FPS])
    frames, sound, info, number = clips.get_clip(2)
    assert (tuple(frames.shape), info, number) == ((4, *SIZE, 3), {"video_fps": FPS}, 0)
    assert frames[:, 3, 5, 0].tolist() == [60, 70, 80, 90]
    assert tuple(sound.shape) == (1, 4 * RATE // FPS)
    np.testing.assert_allclose(sound[0, :: RATE // FPS].numpy(), np.arange(6, 10) * 1000 / 2**15)


def test_half_the_frame_rate_takes_every_other_frame(video):
    frames, *_ = VideoClips([str(video)], 4, 1, frame_rate=FPS / 2, output_format="TCHW").get_clip(1)
    assert tuple(frames.shape) == (4, 3, *SIZE)
    assert frames[:, 0, 0, 0].tolist() == [20, 40, 60, 80]


def test_a_video_too_short_for_a_clip_is_left_out_with_a_warning(video):
    with pytest.warns(UserWarning, match="15 frames has no clip of 16"):
        assert len(VideoClips([str(video)], 16)) == 0


def test_a_data_set_of_videos(video, tmp_path):
    (tmp_path / "trainlist01.txt").write_text("Archery/v.avi 1\n")
    dataset = UCF101(tmp_path, tmp_path, 5, 5, num_workers=0, output_format="TCHW", transform=lambda video: video[:2])
    frames, sound, label = dataset[2]
    assert (len(dataset), tuple(frames.shape), sound.shape[1], label) == (3, (2, 3, *SIZE), RATE // 2, 0)
    dataset.transform = None
    assert type(wrap_dataset_for_transforms_v2(dataset)[0][0]).__name__ == "Video"
