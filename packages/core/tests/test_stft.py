"""`weft.stft` and `weft.istft`: against the transform of each frame, and each other."""

import numpy as np
import pytest

import weft
from weft.autograd import gradcheck, gradgradcheck

RNG = np.random.default_rng(0)


def signal(*shape, is_complex=False, requires_grad=False):
    values = RNG.standard_normal(shape) + (1j * RNG.standard_normal(shape) if is_complex else 0)
    return weft.tensor(values, requires_grad=requires_grad)


def frames(x, n_fft, hop):
    return np.stack([x[start : start + n_fft] for start in range(0, len(x) - n_fft + 1, hop)])


@pytest.mark.parametrize("hop", [1, 3, 8])
def test_columns_are_the_transforms_of_windowed_frames(hop):
    x, window = signal(30), signal(8)
    got = weft.stft(x, 8, hop, window=window, center=False, return_complex=True)
    expected = np.fft.rfft(frames(x.numpy(), 8, hop) * window.numpy()).T
    np.testing.assert_allclose(got.numpy(), expected, atol=1e-13)


@pytest.mark.parametrize(
    ("mode", "numpys"), [("reflect", "reflect"), ("replicate", "edge"), ("circular", "wrap"), ("constant", "constant")]
)
def test_a_centred_transform_is_that_of_the_extended_signal(mode, numpys):
    x = signal(2, 11)
    got = weft.stft(x, 6, 2, center=True, pad_mode=mode, return_complex=True)
    extended = np.pad(x.numpy(), [(0, 0), (3, 3)], mode=numpys)
    expected = np.stack([np.fft.rfft(frames(row, 6, 2)).T for row in extended])
    np.testing.assert_allclose(got.numpy(), expected, atol=1e-13)


def test_a_shorter_window_stands_in_the_middle():
    x, window = signal(20), weft.ones(3, dtype=weft.float64)
    got = weft.stft(x, 6, 6, 3, window, center=False, return_complex=True)
    expected = np.fft.rfft(frames(x.numpy(), 6, 6) * np.array([0, 1, 1, 1, 0, 0])).T
    np.testing.assert_allclose(got.numpy(), expected, atol=1e-13)
    assert weft.equal(weft.stft(x, 6, 6, 3, center=False, return_complex=True), got)


def test_windows_can_begin_at_the_first_sample():
    x, window = signal(20), signal(4)
    got = weft.stft(x, 8, 4, 4, window, center=False, return_complex=True, align_to_window=True)
    expected = np.fft.rfft(np.pad(frames(x.numpy(), 4, 4) * window.numpy(), [(0, 0), (2, 2)])).T
    np.testing.assert_allclose(got.numpy(), expected, atol=1e-13)


def test_a_complex_signal_has_all_frequencies():
    x = signal(16, is_complex=True)
    got = weft.stft(x, 4, 4, center=False)
    np.testing.assert_allclose(got.numpy(), np.fft.fft(frames(x.numpy(), 4, 4)).T, atol=1e-13)
    real = weft.stft(x.real.contiguous(), 4, 4, center=False, onesided=False, return_complex=True)
    assert real.shape == got.shape


def test_real_pairs_are_the_complex_numbers():
    x = signal(16)
    with pytest.warns(UserWarning, match="return_complex"):
        pairs = weft.stft(x, 4, return_complex=False)
    assert weft.equal(pairs, weft.view_as_real(weft.stft(x, 4, return_complex=True)))


def test_normalized_divides_by_the_root_of_the_size():
    x = signal(16)
    plain, scaled = (weft.stft(x, 4, normalized=each, return_complex=True) for each in (False, True))
    np.testing.assert_allclose(scaled.numpy(), plain.numpy() / 2)


@pytest.mark.parametrize("normalized", [False, True])
@pytest.mark.parametrize("onesided", [True, False])
@pytest.mark.parametrize("window", [None, weft.hann_window(8, dtype=weft.float64)])
def test_inverse_returns_the_signal(window, onesided, normalized):
    x = signal(3, 40)
    options = {"window": window, "normalized": normalized, "onesided": onesided}
    spectra = weft.stft(x, 8, 2, return_complex=True, **options)
    np.testing.assert_allclose(weft.istft(spectra, 8, 2, length=40, **options).numpy(), x.numpy(), atol=1e-13)


def test_inverse_returns_the_complex_signal():
    x = signal(24, is_complex=True)
    spectra = weft.stft(x, 8, 4)
    back = weft.istft(spectra, 8, 4, return_complex=True, length=24)
    np.testing.assert_allclose(back.numpy(), x.numpy(), atol=1e-13)


def test_a_length_beyond_the_frames_is_filled_up_with_zeros():
    x = signal(16)
    spectra = weft.stft(x, 4, 4, center=False, return_complex=True)
    with pytest.warns(UserWarning, match="filled up with zeros"):
        back = weft.istft(spectra, 4, 4, center=False, length=20)
    np.testing.assert_allclose(back.numpy(), np.pad(x.numpy(), (0, 4)), atol=1e-13)


def test_gradients_agree_with_differences():
    window = signal(4).abs() + 0.5
    inputs = (signal(2, 10, requires_grad=True), window.requires_grad_())

    def forward(x, w):
        return weft.stft(x, 4, 2, window=w, return_complex=True)

    def back(x, w):
        return weft.istft(x, 4, 2, window=w)

    assert gradcheck(forward, inputs) and gradgradcheck(forward, inputs)
    spectra = signal(3, 4, is_complex=True, requires_grad=True)
    assert gradcheck(back, (spectra, inputs[1]))


@pytest.mark.parametrize(
    ("problem", "call"),
    [
        ("return_complex", lambda x: weft.stft(x, 4)),
        ("n_fft", lambda x: weft.stft(x, 40, center=False, return_complex=True)),
        ("longer signal", lambda x: weft.stft(x, 40, return_complex=True)),
        ("hop_length > 0", lambda x: weft.stft(x, 4, 0, return_complex=True)),
        ("win_length", lambda x: weft.stft(x, 4, 1, 5, return_complex=True)),
        ("window", lambda x: weft.stft(x, 4, window=weft.ones(3), return_complex=True)),
        ("1D or 2D", lambda x: weft.stft(x.reshape(1, 1, -1), 4, return_complex=True)),
        ("onesided", lambda x: weft.stft(x.to(weft.complex128), 4, onesided=True)),
        ("floating", lambda x: weft.stft(x.to(weft.int64), 4, return_complex=True)),
        ("complex", lambda x: weft.istft(x, 4)),
        ("frequency dimension", lambda x: weft.istft(weft.ones(4, 3, dtype=weft.complex64), 4, onesided=True)),
        ("non-empty", lambda x: weft.istft(weft.ones(3, 0, dtype=weft.complex64), 4)),
        ("window overlap", lambda x: weft.istft(weft.ones(3, 2, dtype=weft.complex64), 4, window=weft.zeros(4))),
    ],
)
def test_a_wrong_call_says_what_is_wrong(problem, call):
    with pytest.raises(RuntimeError, match=f"^i?stft.*{problem}"):
        call(signal(16))


def test_examples_of_a_batch_may_have_windows_of_their_own():
    spectra, windows = signal(2, 3, 5, is_complex=True), signal(2, 4).abs() + 0.5
    mapped = weft.func.vmap(lambda x, w: weft.istft(x, 4, window=w))(spectra, windows)
    for example, x, w in zip(mapped, spectra, windows):
        np.testing.assert_allclose(example.numpy(), weft.istft(x, 4, window=w).numpy())
    windows[1] = 0
    with pytest.raises(RuntimeError, match="istft: window overlap"):
        weft.func.vmap(lambda x, w: weft.istft(x, 4, window=w))(spectra, windows)
