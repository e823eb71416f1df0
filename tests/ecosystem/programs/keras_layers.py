"""Keras 3 on its PyTorch backend: many layers, losses, metrics, optimizers and a training loop of one's own."""

# /// script
# dependencies = ["keras==3.15.1"]
# ///

import os

os.environ["KERAS_BACKEND"] = "torch"
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"

import keras
import numpy as np
import torch
from keras import layers, losses, metrics, ops, optimizers, regularizers

keras.utils.set_random_seed(1)
rng = np.random.default_rng(1)
image = rng.normal(size=(2, 8, 8, 3)).astype("float32")
series = rng.normal(size=(2, 6, 5)).astype("float32")


def show(name, value):
    value = ops.convert_to_numpy(value)
    print(name, list(value.shape), round(float(value.sum()), 5), round(float(np.abs(value).sum()), 5))


for layer in (
    layers.Conv2D(4, 3, strides=2, padding="same"),
    layers.DepthwiseConv2D(3),
    layers.SeparableConv2D(4, 3),
    layers.Conv2DTranspose(2, 3, strides=2),
    layers.AveragePooling2D(2),
    layers.MaxPooling2D(3, 2, padding="same"),
    layers.UpSampling2D(2, interpolation="bilinear"),
    layers.ZeroPadding2D(1),
    layers.Cropping2D(1),
    layers.GroupNormalization(3),
    layers.LayerNormalization(),
    layers.SpectralNormalization(layers.Conv2D(2, 2)),
    layers.Resizing(5, 7),
    layers.Rescaling(2.0, 1.0),
    layers.GlobalMaxPooling2D(),
    layers.Permute((3, 1, 2)),
    layers.UnitNormalization(),
):
    show(type(layer).__name__, layer(image))
for layer in (
    layers.Conv1D(4, 3, padding="causal"),
    layers.LSTM(4, return_sequences=True),
    layers.GRU(4),
    layers.SimpleRNN(3),
    layers.Bidirectional(layers.LSTM(3)),
    layers.TimeDistributed(layers.Dense(2)),
    layers.RNN(layers.StackedRNNCells([layers.LSTMCell(3), layers.GRUCell(2)])),
    layers.Dense(3, activation="swish"),
    layers.PReLU(),
    layers.LeakyReLU(),
    layers.ELU(),
    layers.Softmax(),
    layers.EinsumDense("abc,cd->abd", output_shape=(6, 4)),
    layers.GlobalAveragePooling1D(),
    layers.Masking(),
    layers.Flatten(),
    layers.Dropout(0.5),
    layers.GaussianNoise(0.1),
):
    show(type(layer).__name__, layer(series))
y, p = rng.integers(0, 2, (8, 1)).astype("float32"), rng.uniform(0.1, 0.9, (8, 1)).astype("float32")
for loss in (
    losses.BinaryCrossentropy(),
    losses.MeanSquaredError(),
    losses.Huber(),
    losses.Hinge(),
    losses.LogCosh(),
    losses.Poisson(),
    losses.KLDivergence(),
    losses.CosineSimilarity(),
    losses.BinaryFocalCrossentropy(),
    losses.Dice(),
    losses.Tversky(),
):
    show(type(loss).__name__, loss(y, p))
for metric in (
    metrics.AUC(),
    metrics.Precision(),
    metrics.Recall(),
    metrics.BinaryAccuracy(),
    metrics.MeanAbsoluteError(),
    metrics.F1Score(threshold=0.5),
    metrics.R2Score(),
):
    metric.update_state(y, p)
    show(type(metric).__name__, metric.result())
for optimizer in (
    optimizers.SGD(0.1, momentum=0.9, nesterov=True),
    optimizers.Adam(0.1),
    optimizers.AdamW(0.1),
    optimizers.RMSprop(0.1),
    optimizers.Adagrad(0.1),
    optimizers.Adadelta(1.0),
    optimizers.Adamax(0.1),
    optimizers.Nadam(0.1),
    optimizers.Ftrl(0.1),
    optimizers.Lion(0.1),
    optimizers.Adafactor(0.1),
    optimizers.Lamb(0.1),
):
    keras.utils.set_random_seed(2)
    model = keras.Sequential(
        [
            layers.Input((5,)),
            layers.Dense(4, activation="tanh", kernel_regularizer=regularizers.L2(0.01)),
            layers.Dense(1),
        ]
    )
    model.compile(optimizer, "mse")
    history = model.fit(series[:, 0], series[:, 0, :1], epochs=3, verbose=0, shuffle=False)
    print(type(optimizer).__name__, [round(float(v), 4) for v in history.history["loss"]])
keras.utils.set_random_seed(3)
model = keras.Sequential([layers.Input((5,)), layers.Dense(4, activation="relu"), layers.Dense(1)])
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(3):
    optimizer.zero_grad()
    loss = ((model(torch.from_numpy(series[0])) - 1) ** 2).mean()
    loss.backward()
    optimizer.step()
print("torch_loop", round(loss.item(), 4), isinstance(model, torch.nn.Module))


class Own(keras.Model):
    def __init__(self):
        super().__init__()
        self.dense = layers.Dense(1)

    def call(self, x):
        return self.dense(x)

    def train_step(self, data):
        x, y = data
        self.zero_grad()
        loss = self.compute_loss(y=y, y_pred=self(x, training=True))
        loss.backward()
        weights = list(self.trainable_weights)
        with torch.no_grad():
            self.optimizer.apply([v.value.grad for v in weights], weights)
        return {"loss": loss}


own = Own()
own.compile(optimizers.Adam(0.05), "mse")
callbacks = [
    keras.callbacks.ReduceLROnPlateau(monitor="loss", patience=1),
    keras.callbacks.EarlyStopping(monitor="loss", patience=5),
]
print(
    "own_step",
    [
        round(float(v), 4)
        for v in own.fit(series[:, 0], series[:, 0, :1], epochs=3, verbose=0, callbacks=callbacks).history["loss"]
    ],
)
