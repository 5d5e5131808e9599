/* known_cards.c - GPUs that people have, by the memory that their driver reports. */
#include "device/known_cards.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/names.h"

#define SUGGESTED_MAX 6

static bool is_key(const struct frag_card *card, const char *key)
{
	const size_t length = strlen(key);

	return length == strlen(card->key)
	       && frag_distance(key, length, card->key, length) == 0;
}

/* Is the word in the key, wherever it begins? */
static bool contains(const char *key, const char *word)
{
	const size_t length = strlen(word);

	for (; strlen(key) >= length; key++)
		if (frag_distance(key, length, word, length) == 0)
			return true;
	return false;
}

/* Of "h100" there are several; of a slip the nearest is meant. */
static const char *suggest(const char *key, struct frag_name_list *names)
{
	struct frag_suggestion near = frag_near_to(key, strlen(key));
	uint32_t count = 0;

	for (const struct frag_card *c = frag_cards; c->key && *key; c++)
		if (contains(c->key, key) && count++ < SUGGESTED_MAX)
			frag_listed_add(names, c->key);
	for (const struct frag_card *c = frag_cards; c->key; c++)
		frag_near_offer(&near, c->key);
	if (!count && near.best)
		frag_listed_add(names, near.best);
	return frag_listed_text(names, " or ");
}

const struct frag_card *frag_card_named(const char *key, struct frag_error *err)
{
	struct frag_name_list names = { .used = 0 };
	const char *near;

	for (const struct frag_card *c = frag_cards; c->key; c++)
		if (is_key(c, key))
			return c;
	near = suggest(key, &names);
	frag_fail(err, FRAG_EUSAGE, "no card \"%.60s\";%s%s%s fragsim cards lists them", key,
		  *near ? " did you mean " : "", near, *near ? "?" : "");
	return NULL;
}

const struct frag_card frag_cards[] = {
	{
		"gtx-1650", "NVIDIA GeForce GTX 1650", UINT64_C(4083154944),
		"3894 MB", "CUDA",
		"https://github.com/its5Q/hashcat-benchmarks/blob/HEAD/NVIDIA/"
		"NVIDIA_GeForce_GTX_1650_4GB.txt",
	},
	{
		"rtx-4050-laptop", "NVIDIA GeForce RTX 4050 Laptop GPU", UINT64_C(6078595072),
		"6078595072 bytes", "CUDA",
		"https://github.com/stanleyedward/high_performance_neural_nets/blob/HEAD/README.md",
	},
	{
		"rtx-2060-6gb", "NVIDIA GeForce RTX 2060 6GB", UINT64_C(6204424192),
		"5917 MB", "CUDA",
		"https://github.com/its5Q/hashcat-benchmarks/blob/HEAD/NVIDIA/"
		"NVIDIA_GeForce_RTX_2060_6GB.txt",
	},
	{
		"gtx-1660ti", "GeForce GTX 1660 Ti", UINT64_C(6233784320),
		"5.81 GiB", "CUDA",
		"https://github.com/zhou13/lcnn/issues/23",
	},
	{
		"gtx-1060-6gb", "GeForce GTX 1060 6GB", UINT64_C(6357516288),
		"6063 MB", "CUDA",
		"https://github.com/tnAnGel/HashCat-Benchmark/blob/HEAD/"
		"NVIDIA%20GeForce%20GTX%201060%206GB/"
		"NVIDIA%20GeForce%20GTX%201060%206GB%20%E2%80%94%20its5Q%20v6.2.6-813-g686bc227c.m"
		"d",
	},
	{
		"rtx-3070", "NVIDIA GeForce RTX 3070", UINT64_C(8248098816),
		"7866 MB", "CUDA",
		"https://github.com/its5Q/hashcat-benchmarks/blob/HEAD/NVIDIA/"
		"NVIDIA_GeForce_RTX_3070_8GB.txt",
	},
	{
		"rtx-3060ti", "NVIDIA GeForce RTX 3060 Ti", UINT64_C(8350859264),
		"7964 MB", "CUDA",
		"https://github.com/its5Q/hashcat-benchmarks/blob/HEAD/NVIDIA/"
		"NVIDIA_GeForce_RTX_3060_Ti_8GB.txt",
	},
	{
		"rtx-3050-8gb", "NVIDIA GeForce RTX 3050", UINT64_C(8352169984),
		"8352169984 bytes", "OpenCL",
		"https://github.com/nohzen/opencl/blob/HEAD/info/clinfo_desktop.txt",
	},
	{
		"gtx-1080", "NVIDIA GeForce GTX 1080", UINT64_C(8498708480),
		"8105 MB", "CUDA",
		"https://github.com/its5Q/hashcat-benchmarks/blob/HEAD/NVIDIA/"
		"NVIDIA_GeForce_GTX_1080_8GB.txt",
	},
	{
		"gtx-1070", "NVIDIA GeForce GTX 1070", UINT64_C(8499757056),
		"8106 MB", "CUDA",
		"https://github.com/its5Q/hashcat-benchmarks/blob/HEAD/NVIDIA/"
		"NVIDIA_GeForce_GTX_1070_8GB.txt",
	},
	{
		"rtx-3080-10gb", "NVIDIA GeForce RTX 3080 10GB", UINT64_C(10368319488),
		"9888 MB", "CUDA",
		"https://github.com/its5Q/hashcat-benchmarks/blob/HEAD/NVIDIA/"
		"NVIDIA_GeForce_RTX_3080_10GB.txt",
	},
	{
		"rtx-2080ti", "GeForce RTX 2080 Ti", UINT64_C(11545870336),
		"11011 MB", "OpenCL",
		"https://github.com/ProjectPhysX/OpenCL-Benchmark/blob/HEAD/README.md",
	},
	{
		"gtx-1080ti", "NVIDIA GeForce GTX 1080 Ti", UINT64_C(11719933952),
		"10.92 GiB", "CUDA",
		"https://github.com/Rubics-Xuan/TransBTS/issues/45",
	},
	{
		"rtx-a2000-12gb", "NVIDIA RTX A2000 12GB", UINT64_C(12375293952),
		"11.53 GiB", "CUDA",
		"https://github.com/vllm-project/vllm/issues/12030",
	},
	{
		"rtx-3080ti", "NVIDIA GeForce RTX 3080 Ti", UINT64_C(12519997440),
		"11940 MB", "CUDA",
		"https://github.com/its5Q/hashcat-benchmarks/blob/HEAD/NVIDIA/"
		"NVIDIA_GeForce_RTX_3080_Ti_12GB.txt",
	},
	{
		"rtx-4070", "NVIDIA GeForce RTX 4070", UINT64_C(12581863424),
		"11999 MB", "CUDA",
		"https://github.com/its5Q/hashcat-benchmarks/blob/HEAD/NVIDIA/"
		"NVIDIA_GeForce_RTX_4070_12GB.txt",
	},
	{
		"rtx-3060-12gb", "NVIDIA GeForce RTX 3060", UINT64_C(12594446336),
		"12011 MB", "CUDA",
		"https://github.com/davrot/pytutorial/blob/HEAD/pytorch/cuda/README.md",
	},
	{
		"t4", "Tesla T4", UINT64_C(15832449024),
		"14.75 GiB", "CUDA",
		"https://github.com/hpcaitech/Open-Sora/issues/697",
	},
	{
		"rtx-5070ti", "NVIDIA GeForce RTX 5070 Ti", UINT64_C(16616783872),
		"15847 MB", "CUDA",
		"https://github.com/dosoos/hashcat_speeds/blob/HEAD/benchmarks/RTX5070Ti.txt",
	},
	{
		"rtx-5080", "NVIDIA GeForce RTX 5080", UINT64_C(16616783872),
		"15.48 GiB", "CUDA",
		"https://github.com/vllm-project/vllm/issues/14452",
	},
	{
		"rtx-5060ti-16gb", "NVIDIA GeForce RTX 5060 Ti", UINT64_C(16617897984),
		"16617897984 bytes", "CUDA",
		"https://github.com/Jumperkables/cuda-benchmarking/blob/HEAD/00_deviceQuery/"
		"README.md",
	},
	{
		"rtx-4060ti-16gb", "NVIDIA GeForce RTX 4060 Ti 16GB", UINT64_C(16754147328),
		"15978 MB", "CUDA",
		"https://github.com/its5Q/hashcat-benchmarks/blob/HEAD/NVIDIA/"
		"NVIDIA_GeForce_RTX_4060_Ti_16GB.txt",
	},
	{
		"rtx-a4000", "NVIDIA RTX A4000", UINT64_C(16756244480),
		"15.61 GiB", "CUDA",
		"https://github.com/DengKaiCQ/VGGT-Long/issues/6",
	},
	{
		"rtx-4080-super", "NVIDIA GeForce RTX 4080 SUPER", UINT64_C(16852713472),
		"16072 MB", "CUDA",
		"https://github.com/its5Q/hashcat-benchmarks/blob/HEAD/NVIDIA/"
		"NVIDIA_GeForce_RTX_4080_SUPER_16GB.txt",
	},
	{
		"v100-16gb", "Tesla V100-SXM2-16GB", UINT64_C(16944988160),
		"16160 MB", "OpenCL",
		"https://github.com/tnAnGel/HashCat-Benchmark/blob/HEAD/"
		"NVIDIA%20Tesla%20V100%20SXM2%2016GB/"
		"NVIDIA%20Tesla%20V100%20SXM2%2016GB%20%E2%80%94%20synch-cc%20v4.1.0%20%5B8x%20rig"
		"%5D.md",
	},
	{
		"p100-16gb", "Tesla P100-PCIE-16GB", UINT64_C(17066622976),
		"16276 MB", "OpenCL",
		"https://github.com/hashcat/hashcat/issues/1489",
	},
	{
		"quadro-gp100", "Quadro GP100", UINT64_C(17068720128),
		"16278 MiB", "CUDA",
		"https://github.com/NVIDIA/nvbench/blob/HEAD/examples/outputs/"
		"nvbench.example.exec_tag_sync.list.md",
	},
	{
		"l4", "NVIDIA L4", UINT64_C(23570219008),
		"23570219008 bytes", "CUDA",
		"https://github.com/thamada/nvidia-smi/blob/HEAD/gls/L4_deviceQuery.py",
	},
	{
		"a10", "NVIDIA A10", UINT64_C(23609475072),
		"23609475072 bytes", "CUDA",
		"https://github.com/aalanwyr/face2cuda/blob/HEAD/step2cuda/README.md",
	},
	{
		"p40", "Tesla P40", UINT64_C(24024973312),
		"22.38 GiB", "CUDA",
		"https://github.com/LinkSoul-AI/Chinese-Llama-2-7b/issues/56",
	},
	{
		"a30", "NVIDIA A30", UINT64_C(25260195840),
		"23.53 GiB", "CUDA",
		"https://github.com/google/RB-Modulation/issues/5",
	},
	{
		"rtx-3090", "NVIDIA GeForce RTX 3090", UINT64_C(25286672384),
		"25286672384 bytes", "CUDA",
		"https://github.com/Jumperkables/cuda-benchmarking/blob/HEAD/00_deviceQuery/"
		"README.md",
	},
	{
		"rtx-4090", "NVIDIA GeForce RTX 4090", UINT64_C(25386352640),
		"25386352640 bytes", "CUDA",
		"https://github.com/thamada/nvidia-smi/blob/HEAD/gls/RTX4090_deviceQuery.py",
	},
	{
		"rtx-3090ti", "NVIDIA GeForce RTX 3090 Ti", UINT64_C(25417482240),
		"24240 MB", "CUDA",
		"https://github.com/tnAnGel/HashCat-Benchmark/blob/HEAD/"
		"NVIDIA%20GeForce%20RTX%203090%20Ti/"
		"NVIDIA%20GeForce%20RTX%203090%20Ti%20%E2%80%94%20shivams%20v6.2.5%20%5B2x%20rig%5"
		"D.md",
	},
	{
		"rtx-5090", "NVIDIA GeForce RTX 5090", UINT64_C(33680261120),
		"32120 MB", "CUDA",
		"https://github.com/dosoos/hashcat_speeds/blob/HEAD/benchmarks/RTX5090.txt",
	},
	{
		"v100-32gb", "V100 32GB", UINT64_C(34075574272),
		"31.74 GiB", "CUDA",
		"https://github.com/liucongg/ChatGLM-Finetuning/issues/73",
	},
	{
		"quadro-gv100", "Quadro GV100", UINT64_C(34086060032),
		"32507 MiB", "CUDA",
		"https://github.com/NVIDIA/nvbench/blob/HEAD/examples/outputs/"
		"nvbench.example.exec_tag_sync.list.md",
	},
	{
		"a100-40gb", "NVIDIA A100-SXM4-40GB", UINT64_C(42298834944),
		"42298834944 bytes", "CUDA",
		"https://github.com/bottlerocket-os/bottlerocket/pull/3873",
	},
	{
		"a40", "NVIDIA A40", UINT64_C(47608692736),
		"47608692736 bytes", "CUDA",
		"https://github.com/thamada/nvidia-smi/blob/HEAD/nvsim/A40x10_deviceQuery.py",
	},
	{
		"l40", "NVIDIA L40", UINT64_C(47669313536),
		"44.40 GiB", "CUDA",
		"https://github.com/QwenLM/Qwen3-VL/issues/2097",
	},
	{
		"l40s", "NVIDIA L40S", UINT64_C(47703916544),
		"45494 MB", "CUDA",
		"https://github.com/tnAnGel/HashCat-Benchmark/blob/HEAD/NVIDIA%20L40S/"
		"NVIDIA%20L40S%20%E2%80%94%20bigpick%20v6.2.6-851-g6716447df%20%5BData-center%5D.m"
		"d",
	},
	{
		"rtx-6000-ada", "NVIDIA RTX 6000 Ada Generation", UINT64_C(50875858944),
		"48519 MB", "CUDA",
		"https://github.com/dosoos/hashcat_speeds/blob/HEAD/benchmarks/RTX6000Ada.txt",
	},
	{
		"quadro-rtx-8000", "Quadro RTX 8000", UINT64_C(50954502144),
		"47.46 GiB", "CUDA",
		"https://github.com/Victarry/stable-dreambooth/issues/8",
	},
	{
		"rtx-a6000", "NVIDIA RTX A6000", UINT64_C(51040485376),
		"48676 MB", "CUDA",
		"https://github.com/pytorch/ao/blob/2a18357813a661f9db05459e15af7a4ea0488997/"
		"torchao/prototype/hqq/README.md",
	},
	{
		"h100-80gb", "NVIDIA H100 80GB HBM3 (SXM)", UINT64_C(84938850304),
		"79.11 GiB", "CUDA",
		"https://github.com/vllm-project/vllm/issues/27508",
	},
	{
		"a100-80gb", "NVIDIA A100-SXM4-80GB", UINT64_C(84971356160),
		"79.14 GiB", "CUDA",
		"https://github.com/lianqi1008/Control-GIC/issues/6",
	},
	{
		"h100-nvl-94gb", "NVIDIA H100 NVL", UINT64_C(99861594112),
		"99861594112 bytes", "CUDA",
		"https://github.com/thamada/nvidia-smi/blob/HEAD/gls/H100NVLx2_deviceQuery.py",
	},
	{
		"gh200-96gb", "NVIDIA GH200 480GB", UINT64_C(102005473280),
		"97280 MB", "OpenCL",
		"https://github.com/mredenti/PowerCapping/blob/HEAD/configuration/"
		"OpenCL_benchmark.md",
	},
	{
		"h200-141gb", "NVIDIA H200", UINT64_C(150109945856),
		"143156 MB", "CUDA",
		"https://github.com/ai-bot-pro/achatbot/blob/"
		"298019b35ebdd32d4ec0daae998b2308099ba77c/deploy/modal/src/llm/vllm/vlm/"
		"skywork_r1v.py",
	},
	{
		"b200", "NVIDIA B200", UINT64_C(191514017792),
		"182642 MB", "CUDA",
		"https://github.com/tnAnGel/HashCat-Benchmark/blob/HEAD/NVIDIA%20B200/"
		"NVIDIA%20B200%20%E2%80%94%20javydekoning%20v7.1.2%20%5B8x%20rig%5D.md",
	},
	{
		"mi300x", "AMD Instinct MI300X", UINT64_C(206141652992),
		"196592 MB", "HIP",
		"https://github.com/thamada/nvidia-smi/blob/HEAD/package/MI300X_deviceQuery.py",
	},
	{ NULL, NULL, 0, NULL, NULL, NULL },
};
