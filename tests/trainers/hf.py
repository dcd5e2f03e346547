# SPDX-License-Identifier: Apache-2.0
"""Hugging Face Trainer: checkpoint-N, rotation, resume; save_pretrained with several shards."""
import logging
import os
import shutil

import torch
import transformers
from transformers import LlamaConfig, LlamaForCausalLM, Trainer, TrainingArguments

import trial

transformers.utils.logging.set_verbosity_error()
logging.getLogger("accelerate").setLevel(logging.ERROR)


def model():
    torch.manual_seed(1)
    width = max(64, int((trial.size() / 4 / 80) ** 0.5) // 64 * 64)
    return LlamaForCausalLM(LlamaConfig(
        vocab_size=256, hidden_size=width, intermediate_size=2 * width, num_hidden_layers=2,
        num_attention_heads=4, num_key_value_heads=4, max_position_embeddings=64))


def data():
    row = torch.arange(16)
    return [{"input_ids": row + i, "labels": row + i} for i in range(8)]


def train(steps, resume=None, **options):
    arguments = TrainingArguments(
        output_dir="out", max_steps=steps, save_steps=2, logging_steps=1, use_cpu=True,
        per_device_train_batch_size=2, disable_tqdm=True, report_to=[], seed=1,
        lr_scheduler_type="constant", **options)
    trainer = Trainer(model=model(), args=arguments, train_dataset=data())
    trainer.remove_callback(transformers.PrinterCallback)
    trainer.train(resume_from_checkpoint=resume)
    trial.say("at step", trainer.state.global_step, "of", sorted(os.listdir("out")))
    return trainer.model


def assert_same(a, b):
    for (name, x), (_, y) in zip(a.state_dict().items(), b.state_dict().items(), strict=True):
        assert torch.equal(x, y), name


@trial.unsized
def rotation():
    """HF Trainer: staging directories become checkpoint-N, save_total_limit rotates them."""
    trained = train(8, save_total_limit=2)
    trial.forget()
    assert_same(trained, LlamaForCausalLM.from_pretrained("out/checkpoint-8"))


@trial.unsized
def resumed():
    """HF Trainer: resume_from_checkpoint gives what training in one go gives."""
    train(4)
    trial.forget()
    resumed_model = train(8, resume=True)
    shutil.rmtree("out")
    assert_same(train(8), resumed_model)


@trial.unsized
def sharded():
    """save_pretrained in shards, over an old one in a single file, and back."""
    first = model()
    first.save_pretrained("m")
    first.save_pretrained("m", max_shard_size=max(trial.size() // 6, 1 << 20))
    trial.forget()
    assert_same(first, LlamaForCausalLM.from_pretrained("m"))
    first.save_pretrained("m")
    assert_same(first, LlamaForCausalLM.from_pretrained("m"))


if __name__ == "__main__":
    trial.main(rotation, resumed, sharded)
