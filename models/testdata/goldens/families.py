"""The goldens of further families: a table like GOLDENS of make_goldens.py, with classes by name, because transformers 4 lacks some.

Width 16, 48 tokens, heads of width 4 or 8. The seed of a golden is 3000 and its place, or the first one 1000, 2000 … behind it with
which greedy text does not end early; so new ones are added at the end.
"""

D, H, F = 16, 4, 32
specials = dict(vocab_size=48, pad_token_id=0, bos_token_id=1, eos_token_id=2)
llama = dict(
    hidden_size=D, intermediate_size=F, num_hidden_layers=2, num_attention_heads=H, num_key_value_heads=2,
    max_position_embeddings=64, **specials,
)
latent = dict(
    llama, num_attention_heads=2, intermediate_size=8, moe_intermediate_size=4, num_experts_per_tok=2, first_k_dense_replace=1,
    kv_lora_rank=8, qk_nope_head_dim=2, qk_rope_head_dim=4, v_head_dim=3)
gpt = dict(n_layer=2, n_head=H, n_embd=D, n_positions=64, rotary_dim=2, tie_word_embeddings=False, **specials)
part = dict(rope_type="default", rope_theta=10000.0, partial_rotary_factor=0.5)
layers = ["sliding_attention", "full_attention", "sliding_attention"]


def scaled(kind, **options):
    return dict(rope_type=kind, rope_theta=10000.0, **options)


bert = dict(
    vocab_size=48, hidden_size=D, intermediate_size=F, num_hidden_layers=2, num_attention_heads=H, max_position_embeddings=64,
    pad_token_id=0,
)
roberta = dict(bert, pad_token_id=1, type_vocab_size=1)
modern = dict(
    bert, num_hidden_layers=3, local_attention=6, global_attn_every_n_layers=3, layer_types=layers[1:] + layers[:1],
    bos_token_id=1, eos_token_id=2, cls_token_id=1, sep_token_id=2, decoder_bias=True,
)
deberta = dict(bert, relative_attention=True, pos_att_type=["c2p", "p2c"])
siglip = dict(
    model_type="siglip_vision_model", hidden_size=8, intermediate_size=8, num_hidden_layers=1, num_attention_heads=1, image_size=4,
    patch_size=2)
pixtral = dict(
    model_type="pixtral", hidden_size=8, intermediate_size=8, num_hidden_layers=1, num_attention_heads=1, image_size=4, patch_size=2,
    head_dim=8)
visual = dict(
    depth=1, hidden_size=8, intermediate_size=8, num_heads=1, patch_size=2, temporal_patch_size=1, spatial_merge_size=1,
    out_hidden_size=D)
tokens = dict(image_token_id=45, video_token_id=46, vision_start_token_id=43, vision_end_token_id=44)


def whole(text, vision, **options):
    """A model that reads images, too."""
    ends = {k: text[k] for k in ("pad_token_id", "bos_token_id", "eos_token_id")}
    return dict(vocab_size=48, text_config=text, vision_config=vision, **ends, **options)


FAMILIES = {
    "gemma": ("Gemma", "ForCausalLM", dict(llama, head_dim=8, num_key_value_heads=1)),
    "granite": ("Granite", "ForCausalLM", dict(
        llama, embedding_multiplier=6.0, attention_multiplier=0.3, residual_multiplier=0.22, logits_scaling=4.0)),
    "seed_oss": ("SeedOss", "ForCausalLM", dict(llama, head_dim=8)),
    "smollm3": ("SmolLM3", "ForCausalLM", dict(llama, no_rope_layer_interval=2)),
    "starcoder2": ("Starcoder2", "ForCausalLM", dict(llama, sliding_window=5)),
    "stablelm": ("StableLm", "ForCausalLM", dict(llama, use_qkv_bias=True, rope_parameters=part)),
    "stablelm_parallel": ("StableLm", "ForCausalLM", dict(llama, use_parallel_residual=True, rope_parameters=part)),
    "nemotron": ("Nemotron", "ForCausalLM", dict(llama, rope_parameters=part)),
    "cohere": ("Cohere", "ForCausalLM", dict(
        llama, use_qk_norm=True, logit_scale=0.5, rope_parameters=dict(rope_type="default", rope_theta=10000.0))),
    "cohere2": ("Cohere2", "ForCausalLM", dict(llama, num_hidden_layers=3, sliding_window=5, layer_types=layers)),
    "glm": ("Glm", "ForCausalLM", dict(llama, head_dim=8, rope_parameters=part)),
    "glm4": ("Glm4", "ForCausalLM", dict(llama, head_dim=8, rope_parameters=part)),
    "olmo": ("Olmo", "ForCausalLM", dict(llama, clip_qkv=0.8)),
    "olmo2": ("Olmo2", "ForCausalLM", dict(llama)),
    "olmo3": ("Olmo3", "ForCausalLM", dict(
        llama, num_hidden_layers=3, sliding_window=5, layer_types=layers, rope_parameters=dict(
            full_attention=scaled("yarn", factor=4.0, original_max_position_embeddings=16),
            sliding_attention=scaled("default")))),
    "exaone4": ("Exaone4", "ForCausalLM", dict(llama, num_hidden_layers=3, sliding_window=5, layer_types=layers)),
    "ministral3": ("Ministral3", "ForCausalLM", dict(llama, head_dim=8, rope_parameters=scaled(
        "yarn", factor=4.0, original_max_position_embeddings=5, mscale=1.0, mscale_all_dim=1.0,
        llama_4_scaling_beta=0.3))),
    "gpt_neo": ("GPTNeo", "ForCausalLM", dict(
        hidden_size=D, num_layers=2, num_heads=H, max_position_embeddings=64, window_size=5,
        attention_types=[[["global", "local"], 1]], **specials)),
    "gptj": ("GPTJ", "ForCausalLM", dict(gpt)),
    "codegen": ("CodeGen", "ForCausalLM", dict(gpt)),
    "phi": ("Phi", "ForCausalLM", dict(llama, num_key_value_heads=4, rope_parameters=part)),
    "mpt": ("Mpt", "ForCausalLM", dict(
        d_model=D, n_heads=H, n_layers=2, attn_config=dict(clip_qkv=0.8), tie_word_embeddings=True, **specials)),
    "xlm_roberta": ("XLMRoberta", "ForMaskedLM", dict(roberta)),
    "xlm_roberta_cls": ("XLMRoberta", "ForSequenceClassification", dict(roberta, num_labels=1)),
    "camembert": ("Camembert", "ForMaskedLM", dict(roberta)),
    "albert": ("Albert", "ForMaskedLM", dict(bert, embedding_size=8)),
    "albert_cls": ("Albert", "ForSequenceClassification", dict(bert, embedding_size=8, num_labels=3)),
    "mpnet": ("MPNet", "ForMaskedLM", dict(bert, pad_token_id=1)),
    "mpnet_cls": ("MPNet", "ForSequenceClassification", dict(bert, pad_token_id=1, num_labels=3)),
    "modernbert": ("ModernBert", "ForMaskedLM", dict(modern)),
    "modernbert_cls": ("ModernBert", "ForSequenceClassification", dict(modern, num_labels=3)),
    "modernbert_tokens": ("ModernBert", "ForTokenClassification", dict(modern, num_labels=3)),
    "gemma3_images": ("Gemma3", "ForConditionalGeneration", whole(
        dict(llama, model_type="gemma3_text", head_dim=8, sliding_window=5, query_pre_attn_scalar=8), siglip, image_token_id=45,
        boi_token_id=43, eoi_token_id=44, mm_tokens_per_image=4)),
    "mistral3": ("Mistral3", "ForConditionalGeneration", whole(
        dict(llama, model_type="mistral", sliding_window=None, tie_word_embeddings=False), pixtral, image_token_id=45,
        tie_word_embeddings=False)),
    "qwen2_5_vl": ("Qwen2_5_VL", "ForConditionalGeneration", whole(dict(llama, rope_parameters=dict(
        rope_type="default", rope_theta=10000.0, mrope_section=[1, 1, 0])), dict(visual, fullatt_block_indexes=[0]), **tokens)),
    "qwen3_vl": ("Qwen3VL", "ForConditionalGeneration", whole(
        dict(llama, head_dim=8, rope_parameters=dict(rope_type="default", rope_theta=10000.0, mrope_section=[2, 1, 1])),
        dict(visual, deepstack_visual_indexes=[], num_position_embeddings=4), **tokens)),
    "deberta_v2": ("DebertaV2", "ForMaskedLM", dict(
        deberta, position_buckets=4, max_relative_positions=8, share_att_key=True, norm_rel_ebd="layer_norm",
        position_biased_input=False)),
    "deberta_v2_cls": ("DebertaV2", "ForSequenceClassification", dict(
        deberta, max_relative_positions=5, type_vocab_size=2, num_labels=3)),
    "apertus": ("Apertus", "ForCausalLM", dict(llama, rope_parameters=scaled(
        "llama3", factor=8.0, original_max_position_embeddings=16, low_freq_factor=1.0, high_freq_factor=4.0))),
    "granitemoehybrid": ("GraniteMoeHybrid", "ForCausalLM", dict(
        llama, shared_intermediate_size=F, num_local_experts=0, num_experts_per_tok=0, layer_types=["full_attention"] * 2,
        position_embedding_type="rope", embedding_multiplier=6.0, attention_multiplier=0.3, residual_multiplier=0.22,
        logits_scaling=4.0, mamba_n_heads=4, mamba_d_head=8)),
    "gpt_bigcode": ("GPTBigCode", "ForCausalLM", dict(
        n_layer=2, n_head=H, n_embd=D, n_positions=64, **specials)),
    "xglm": ("XGLM", "ForCausalLM", dict(
        num_layers=2, attention_heads=H, d_model=D, ffn_dim=F, max_position_embeddings=64, **specials)),
    "stablelm_norms": ("StableLm", "ForCausalLM", dict(
        llama, intermediate_size=8, use_parallel_residual=True, qk_layernorm=True, rope_parameters=part)),
    "modernbert_mean": ("ModernBert", "ForSequenceClassification", dict(
        modern, num_hidden_layers=2, layer_types=layers[:2], intermediate_size=16, num_labels=3, classifier_pooling="mean")),
    "llava_next": ("LlavaNext", "ForConditionalGeneration", whole(
        dict(llama, model_type="llama", num_hidden_layers=1), siglip, image_token_index=45, image_grid_pinpoints=[[4, 4]])),
    "llava_onevision": ("LlavaOnevision", "ForConditionalGeneration", whole(
        dict(llama, model_type="qwen2", num_hidden_layers=1, tie_word_embeddings=True), siglip, image_token_index=45,
        video_token_index=46, image_grid_pinpoints=[[4, 4]], tie_word_embeddings=False)),
    "qwen2_moe_all": ("Qwen2Moe", "ForCausalLM", dict(
        llama, num_experts=4, num_experts_per_tok=2, moe_intermediate_size=8, shared_expert_intermediate_size=24)),
    "t5_encoder": ("T5", "EncoderModel", dict(
        vocab_size=48, d_model=D, d_kv=4, d_ff=F, num_heads=H, num_layers=2, feed_forward_proj="gated-gelu",
        relative_attention_num_buckets=8, relative_attention_max_distance=10)),
    "umt5_encoder": ("UMT5", "EncoderModel", dict(
        vocab_size=48, d_model=D, d_kv=4, d_ff=F, num_heads=H, num_layers=2, feed_forward_proj="relu", relative_attention_num_buckets=8,
        relative_attention_max_distance=10)),
}

# Mixtures of experts: the seed of a golden is 5000 and its place, or the first one 1000, 2000 … behind it.
MIXTURES = {
    "mixtral": ("Mixtral", "ForCausalLM", dict(llama, num_local_experts=5, num_experts_per_tok=2)),
    "olmoe": ("Olmoe", "ForCausalLM", dict(llama, num_experts=8, num_experts_per_tok=3)),
    "qwen2_moe": ("Qwen2Moe", "ForCausalLM", dict(
        llama, num_hidden_layers=3, num_experts=4, num_experts_per_tok=2, moe_intermediate_size=8, shared_expert_intermediate_size=24,
        use_sliding_window=True, sliding_window=5, max_window_layers=2, mlp_only_layers=[1])),
    "qwen3_moe": ("Qwen3Moe", "ForCausalLM", dict(
        llama, head_dim=8, num_experts=6, num_experts_per_tok=2, moe_intermediate_size=12, norm_topk_prob=True)),
    "granitemoe": ("GraniteMoe", "ForCausalLM", dict(
        llama, num_local_experts=5, num_experts_per_tok=2, embedding_multiplier=6.0, attention_multiplier=0.3,
        residual_multiplier=0.22, logits_scaling=4.0)),
    "gpt_oss": ("GptOss", "ForCausalLM", dict(
        llama, num_hidden_layers=3, head_dim=8, num_local_experts=4, num_experts_per_tok=2, sliding_window=5, swiglu_limit=0.8,
        rope_parameters=scaled("yarn", factor=4.0, original_max_position_embeddings=16, beta_fast=32.0, beta_slow=1.0, truncate=False))),
    "deepseek_v2": ("DeepseekV2", "ForCausalLM", dict(
        latent, q_lora_rank=None, n_routed_experts=6, topk_method="group_limited_greedy", n_group=3, topk_group=2,
        routed_scaling_factor=1.5, n_shared_experts=2, rope_parameters=scaled(
            "yarn", factor=4.0, original_max_position_embeddings=16, mscale=0.7, mscale_all_dim=0.7))),
    "deepseek_v3": ("DeepseekV3", "ForCausalLM", dict(
        latent, q_lora_rank=6, n_routed_experts=6, n_group=2, topk_group=1, n_shared_experts=1, rms_norm_eps=1e-5,
        rope_parameters=scaled("yarn", factor=4.0, original_max_position_embeddings=16, mscale=1.0, mscale_all_dim=0.5))),
    "glm4_moe": ("Glm4Moe", "ForCausalLM", dict(
        llama, num_attention_heads=2, intermediate_size=8, n_routed_experts=4, num_experts_per_tok=2, moe_intermediate_size=4, use_qk_norm=True,
        attention_bias=True, routed_scaling_factor=1.5, rope_parameters=part)),
}

# Models of two stacks: the seed of a golden is 7000 and its place.
stacks = dict(vocab_size=48, d_model=D, pad_token_id=0, eos_token_id=2)
t5 = dict(stacks, d_kv=4, d_ff=F, num_heads=H, num_layers=2, relative_attention_num_buckets=8, relative_attention_max_distance=10)
bart = dict(
    stacks, encoder_attention_heads=H, decoder_attention_heads=H, encoder_ffn_dim=F, decoder_ffn_dim=F, encoder_layers=2, decoder_layers=2,
    max_position_embeddings=24, decoder_start_token_id=3, forced_eos_token_id=None)
STACKS = {
    "t5": ("T5", "ForConditionalGeneration", dict(t5, decoder_start_token_id=0, num_decoder_layers=1)),
    "t5_v1_1": ("T5", "ForConditionalGeneration", dict(
        t5, decoder_start_token_id=0, feed_forward_proj="gated-gelu", tie_word_embeddings=False)),
    "mt5": ("MT5", "ForConditionalGeneration", dict(t5, decoder_start_token_id=0, feed_forward_proj="gated-gelu")),
    "bart": ("Bart", "ForConditionalGeneration", dict(bart, bos_token_id=1, decoder_layers=1, scale_embedding=True)),
    "mbart": ("MBart", "ForConditionalGeneration", dict(bart, bos_token_id=1)),
    "pegasus": ("Pegasus", "ForConditionalGeneration", dict(bart, activation_function="relu")),
    "m2m_100": ("M2M100", "ForConditionalGeneration", dict(bart, bos_token_id=1, pad_token_id=1)),
    "marian": ("Marian", "MTModel", dict(bart, activation_function="swish", scale_embedding=True)),
    "bart_widths": ("Bart", "ForConditionalGeneration", dict(bart, bos_token_id=1, encoder_ffn_dim=2 * F)),
    "marian_separate": ("Marian", "MTModel", dict(
        bart, activation_function="relu", decoder_layers=1, share_encoder_decoder_embeddings=False, decoder_vocab_size=40,
        tie_word_embeddings=False)),
    "marian_separate_tied": ("Marian", "MTModel", dict(
        bart, activation_function="gelu", encoder_layers=1, decoder_layers=1, share_encoder_decoder_embeddings=False,
        decoder_vocab_size=56)),
    "umt5": ("UMT5", "ForConditionalGeneration", dict(t5, num_layers=1, num_decoder_layers=2, relative_attention_num_buckets=6)),
    "blenderbot": ("Blenderbot", "ForConditionalGeneration", dict(bart, bos_token_id=1, encoder_layers=1, decoder_layers=1)),
    "plbart": ("PLBart", "ForConditionalGeneration", dict(
        bart, bos_token_id=1, encoder_layers=1, decoder_layers=1, tie_word_embeddings=False)),
    "m2m_100_pad": ("M2M100", "ForConditionalGeneration", dict(
        bart, bos_token_id=1, pad_token_id=4, encoder_layers=1, decoder_layers=1, activation_function="tanh")),
    "mvp": ("Mvp", "ForConditionalGeneration", dict(
        bart, bos_token_id=1, encoder_layers=1, decoder_layers=1, activation_function="quick_gelu")),
    "switch_transformers": ("SwitchTransformers", "ForConditionalGeneration", dict(
        t5, decoder_start_token_id=0, num_decoder_layers=3, num_experts=3, num_sparse_encoder_layers=2, num_sparse_decoder_layers=1,
        decoder_sparse_step=2, router_bias=True)),
    "led": ("LED", "ForConditionalGeneration", dict(
        {k: v for k, v in bart.items() if k != "max_position_embeddings"}, bos_token_id=1, encoder_layers=1, decoder_layers=1,
        max_encoder_position_embeddings=40, max_decoder_position_embeddings=20, attention_window=36)),
    "bigbird_pegasus": ("BigBirdPegasus", "ForConditionalGeneration", dict(
        bart, bos_token_id=1, encoder_layers=1, decoder_layers=1, max_position_embeddings=60, block_size=4, num_random_blocks=1)),
}
