"""A sentence-transformers model of a few kilobytes with random weights and prompts, made by the tests themselves."""

from __future__ import annotations

from pathlib import Path

WORDS = (
    "query", "passage", ":", "auth", "sessions", "live", "in", "postgres", "where", "are", "stored", "redis", "is",
    "a", "cache", "deploys", "happen", "on", "tuesdays", "the", "quick", "brown", "fox", "jumps", "over", "lazy",
    "dog", ".", "?",
)  # fmt: skip
TOKENS_MAX = 32


def save_tiny_model(folder: Path, *, prompts: bool = True) -> Path:
    """Save the model; with `prompts`, questions begin with "query: " and texts with "passage: "."""
    import torch
    from sentence_transformers import SentenceTransformer, models
    from transformers import BertConfig, BertModel, BertTokenizerFast

    inner = folder / "bert"
    inner.mkdir(parents=True)
    vocabulary = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *WORDS]
    (inner / "vocab.txt").write_text("\n".join(vocabulary), "utf-8")
    BertTokenizerFast(str(inner / "vocab.txt"), do_lower_case=True).save_pretrained(inner)
    torch.manual_seed(7)
    config = BertConfig(
        vocab_size=len(vocabulary), hidden_size=16, num_hidden_layers=1, num_attention_heads=2,
        intermediate_size=32, max_position_embeddings=TOKENS_MAX,
    )  # fmt: skip
    BertModel(config).save_pretrained(inner)
    words = models.Transformer(str(inner), max_seq_length=TOKENS_MAX)
    said = {"query": "query: ", "document": "passage: "} if prompts else None
    model = SentenceTransformer(modules=[words, models.Pooling(16)], prompts=said, device="cpu")
    model.save(str(folder / "model"))
    return folder / "model"
