"""Keras 3 on its PyTorch backend: Sequential, functional and custom layers; fit, evaluate, predict, save."""

# /// script
# dependencies = ["keras==3.15.1"]
# ///

import os
import tempfile

os.environ["KERAS_BACKEND"] = "torch"
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"

import keras
import numpy as np
from keras import layers, ops

keras.utils.set_random_seed(0)
rng = np.random.default_rng(0)
x = rng.normal(size=(128, 8)).astype("float32")
y = (x[:, :4].sum(1) > 0).astype("int64")
model = keras.Sequential(
    [layers.Input((8,)), layers.Dense(16, activation="relu"), layers.BatchNormalization(), layers.Dense(2)]
)
model.compile(
    optimizer=keras.optimizers.Adam(0.01),
    loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True),
    metrics=["accuracy"],
)
history = model.fit(x, y, epochs=3, batch_size=32, validation_split=0.25, verbose=0, shuffle=False)
for name, values in history.history.items():
    print(name, [round(float(v), 4) for v in values])
print("evaluate", [round(float(v), 4) for v in model.evaluate(x, y, verbose=0)])
print("predict", model.predict(x[:2], verbose=0).round(4).tolist())
print("parameters", model.count_params())


class Scale(layers.Layer):
    def build(self, shape):
        self.factor = self.add_weight(shape=(shape[-1],), initializer="ones", name="factor")

    def call(self, inputs):
        return inputs * self.factor + ops.mean(inputs, axis=-1, keepdims=True)


images = rng.normal(size=(32, 12, 12, 1)).astype("float32")
targets = images.mean((1, 2))
inputs = keras.Input((12, 12, 1))
hidden = layers.Conv2D(4, 3, activation="relu", padding="same")(inputs)
hidden = layers.MaxPooling2D()(hidden)
hidden = layers.Conv2D(4, 3, strides=2, activation="gelu")(hidden)
skip = layers.GlobalAveragePooling2D()(hidden)
outputs = layers.Dense(1)(layers.Concatenate()([Scale()(skip), layers.Flatten()(hidden)]))
functional = keras.Model(inputs, outputs)
functional.compile(optimizer="rmsprop", loss="mse", metrics=[keras.metrics.MeanAbsoluteError()])
history = functional.fit(images, targets, epochs=2, batch_size=8, verbose=0, shuffle=False)
print("functional", [round(float(v), 4) for v in history.history["loss"]])
print("functional_predict", functional.predict(images[:3], verbose=0).round(4).flatten().tolist())
tokens = rng.integers(0, 20, (16, 6))
recurrent = keras.Sequential(
    [layers.Input((6,)), layers.Embedding(20, 8), layers.LSTM(8), layers.Dense(1, activation="sigmoid")]
)
recurrent.compile(optimizer="sgd", loss="binary_crossentropy")
print(
    "lstm",
    round(float(recurrent.fit(tokens, tokens.sum(1) > 57, epochs=2, verbose=0, shuffle=False).history["loss"][-1]), 4),
)
attention = layers.MultiHeadAttention(num_heads=2, key_dim=4)
sequence = ops.convert_to_tensor(rng.normal(size=(2, 5, 8)).astype("float32"))
print("attention", round(float(ops.convert_to_numpy(attention(sequence, sequence)).sum()), 4))
with tempfile.TemporaryDirectory() as folder:
    model.save(f"{folder}/model.keras")
    loaded = keras.saving.load_model(f"{folder}/model.keras")
    print("loaded", float(np.abs(loaded.predict(x, verbose=0) - model.predict(x, verbose=0)).max()))
print(
    "ops",
    round(float(ops.logsumexp(ops.linspace(0.0, 1.0, 5))), 4),
    ops.top_k(ops.array([1.0, 3.0, 2.0]), 2)[1].tolist(),
)
