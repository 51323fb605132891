"""Well-known names of timm's networks, so that a form can list some without loading timm (a test compares)."""

TIMM_MODELS = (
    "resnet18", "resnet34", "resnet50", "resnet50d", "resnet101", "resnet152", "resnetv2_50", "wide_resnet50_2",
    "resnext50_32x4d", "seresnet50", "seresnext50_32x4d", "ecaresnet50d", "resnest50d", "resnetrs50", "efficientnet_b0",
    "efficientnet_b1", "efficientnet_b2", "efficientnet_b3", "tf_efficientnetv2_s", "tf_efficientnetv2_m",
    "efficientnetv2_rw_s", "mobilenetv2_100", "mobilenetv3_small_100", "mobilenetv3_large_100",
    "mobilenetv4_conv_small", "mobilenetv4_conv_medium", "mobileone_s0", "mnasnet_100", "ghostnet_100", "fbnetc_100",
    "regnety_004", "regnety_016", "regnety_032", "regnetx_004", "densenet121", "vgg16_bn", "darknet53", "cspresnet50",
    "dla34", "hrnet_w18", "repvgg_a0", "rexnet_100", "dpn68", "xception41", "inception_v3", "convnext_atto",
    "convnext_femto", "convnext_nano", "convnext_tiny", "convnext_small", "convnextv2_atto", "convnextv2_nano",
    "convnextv2_tiny", "vit_tiny_patch16_224", "vit_small_patch16_224", "vit_base_patch16_224", "vit_base_patch32_224",
    "deit_tiny_patch16_224", "deit_small_patch16_224", "deit3_small_patch16_224", "cait_xxs24_224",
    "xcit_nano_12_p16_224", "beit_base_patch16_224", "beitv2_base_patch16_224", "eva02_tiny_patch14_224",
    "swin_tiny_patch4_window7_224", "swinv2_tiny_window8_256", "coatnet_nano_rw_224", "maxvit_tiny_tf_224", "levit_128",
    "mobilevit_s", "mobilevitv2_100", "edgenext_small", "efficientformerv2_s0", "fastvit_t8", "poolformer_s12",
    "mixer_b16_224", "resmlp_12_224", "tiny_vit_5m_224", "repvit_m1", "nfnet_f0", "dm_nfnet_f0", "pvt_v2_b0",
)  # fmt: skip
