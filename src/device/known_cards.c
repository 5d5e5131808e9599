/* known_cards.c - GPUs and their slices, by the memory that their driver reports. */
#include "device/known_cards.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/parse.h"

#define SUGGESTED_MAX 6

static bool is_key(const struct frag_card *card, const char *key)
{
	const size_t length = strlen(key);

	return length == strlen(card->key)
	       && frag_distance(key, length, card->key, length) == 0;
}

/* Is the word of that length in the key, wherever it begins? */
static bool contains(const char *key, const char *word, size_t length)
{
	for (; strlen(key) >= length; key++)
		if (frag_distance(key, length, word, length) == 0)
			return true;
	return false;
}

/* Of "h100" there are several, and of "h100-80gb:x" several slices; of a slip the nearest is meant. */
static const char *suggest(const char *key, struct frag_name_list *names)
{
	const size_t card = strcspn(key, ":");
	struct frag_suggestion near = frag_near_to(key, strlen(key));
	uint32_t count = 0;

	for (const struct frag_card *c = frag_cards; c->key && *key; c++)
		if (frag_is_slice(c) == (key[card] != '\0') && contains(c->key, key, card)
		    && count++ < SUGGESTED_MAX)
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
	frag_fail(err, FRAG_EUSAGE, "no card \"%.60s\";%s%s%s fragsim list cards lists them", key,
		  *near ? " did you mean " : "", near, *near ? "?" : "");
	return NULL;
}

/* A card with several known messages has the one in the middle. */
static const struct frag_context contexts[] = {
	{ "rtx-2080ti", 197, "6.68 GiB - 6.10 GiB - 396.58 MiB",
	  "https://github.com/lllyasviel/FramePack/issues/369" },
	{ "t4", 135, "4.11 GiB - 3.72 GiB - 264.21 MiB",
	  "https://github.com/Zheng-Chong/CatVTON/issues/133" },
	{ "rtx-a4000", 210, "15.51 GiB - 15.01 GiB - 301.92 MiB",
	  "https://github.com/DengKaiCQ/VGGT-Long/issues/6" },
	{ "p100-16gb", 818, "15.32 GiB - 14.12 GiB - 410.41 MiB",
	  "https://github.com/pytorch/pytorch/pull/99699" },
	{ "l4", 236, "20.78 GiB - 18.66 GiB - 1.89 GiB",
	  "https://github.com/ArcInstitute/evo2/issues/190" },
	{ "a10", 224, "21.91 GiB - 21.69 GiB - 1.55 MiB",
	  "https://github.com/zai-org/CogVLM/issues/236" },
	{ "rtx-3090", 323, "19.49 GiB - 19.10 GiB - 76.80 MiB",
	  "https://github.com/3DTopia/OpenLRM/issues/42" },
	{ "rtx-4090", 450, "21.61 GiB - 21.16 GiB - 11.05 MiB",
	  "https://github.com/Soul-AILab/SoulX-FlashTalk/issues/5" },
	{ "rtx-5090", 595, "31.34 GiB - 30.74 GiB - 19.41 MiB",
	  "https://github.com/Wan-Video/Wan2.1/issues/465" },
	{ "a100-40gb", 501, "14.25 GiB - 12.87 GiB - 912.01 MiB",
	  "https://github.com/TianheWu/CoSeR/issues/10" },
	{ "l40", 507, "11.13 GiB - 10.25 GiB - 394.50 MiB",
	  "https://github.com/QwenLM/Qwen3-VL/issues/2097" },
	{ "l40s", 514, "44.47 GiB - 43.89 GiB - 79.61 MiB",
	  "https://github.com/huggingface/sentence-transformers/issues/3214" },
	{ "rtx-6000-ada", 429, "44.40 GiB - 43.94 GiB - 41.95 MiB",
	  "https://github.com/DINGYANB/MTVCrafter/issues/21" },
	{ "h100-80gb", 686, "73.79 GiB - 65.24 GiB - 7.88 GiB",
	  "https://github.com/Tencent-Hunyuan/HunyuanVideo-Avatar/issues/6" },
	{ "a100-80gb", 503, "9.25 GiB - 8.27 GiB - 500.38 MiB",
	  "https://github.com/lianqi1008/Control-GIC/issues/6" },
	{ "h100-nvl-94gb", 676, "91.91 GiB - 86.10 GiB - 5.15 GiB",
	  "https://github.com/ali-vilab/VACE/issues/56" },
	{ NULL, FRAG_CONTEXT_ASSUMED, NULL, NULL },
};

const struct frag_context *frag_context_of(const struct frag_card *card)
{
	const size_t length = strcspn(card->key, ":");
	const struct frag_context *context = contexts;

	while (context->key && (strlen(context->key) != length
				|| strncmp(context->key, card->key, length) != 0))
		context++;
	return context;
}

const struct frag_context *frag_context_near(uint64_t total, uint64_t error)
{
	const struct frag_card *only = NULL;

	for (const struct frag_card *c = frag_cards; c->key; c++) {
		if (frag_is_slice(c) || c->bytes + error < total || c->bytes > total + error)
			continue;
		if (only)
			return NULL;
		only = c;
	}
	return only && frag_context_of(only)->key ? frag_context_of(only) : NULL;
}

const char *frag_context_basis(uint64_t total, uint64_t context, char buf[FRAG_BASIS_ROOM])
{
	const struct frag_context *usual;

	for (const struct frag_card *c = frag_cards; c->key; c++) {
		usual = frag_context_of(c);
		if (c->bytes != total || (uint64_t)usual->mib << 20 != context)
			continue;
		snprintf(buf, FRAG_BASIS_ROOM, "%s%s", usual->key ? "typical of " : "assumed",
			 usual->key ? usual->key : "");
		return buf;
	}
	return NULL;
}

/* What nvidia-smi mig -lgip printed of a card. */
#define A30_MIG                                                                                \
	"https://github.com/Summer-Lo/Docker_configuration/blob/"                              \
	"4233c7bdcdc5eb24a64c8564d9ab4341ffd58360/000-MIG/README.md"
#define A100_40_MIG                                                                            \
	"https://github.com/jear/nvidia/blob/0924468d1facb1d05aa8f058fe2ceca9075fb300/A100"
#define A100_80_MIG                                                                            \
	"https://github.com/erhwenkuo/techlearn/blob/"                                         \
	"ad7d437120e92521ba6e02f80192dc309557e643/docs/mlops/02-gpu-sharing/mig/mig-setup.md"
#define H100_MIG "https://jbarrow.ai/field_notes/nvidia-mig/"
#define H200_MIG "https://github.com/NVIDIA/mig-parted/issues/120"
#define B200_MIG "https://github.com/NVIDIA/gpu-operator/pull/1351"
#define MIG(card, name, slice, bytes, gib, count, source)                                      \
	{ card ":" slice, "NVIDIA " name " MIG " slice, bytes, gib " GiB", "nvidia-smi", count, \
	  source }

#define GITHUB "https://github.com/"
#define HASHCAT(name) GITHUB "its5Q/hashcat-benchmarks/blob/HEAD/NVIDIA/" name ".txt"
#define CARD(key, name, bytes, reported, by, source) { key, name, bytes, reported, #by, 1, source }

const struct frag_card frag_cards[] = {
	CARD("gtx-1650", "NVIDIA GeForce GTX 1650", 4083154944, "3894 MB", CUDA,
	     HASHCAT("NVIDIA_GeForce_GTX_1650_4GB")),
	MIG("a100-40gb", "A100 40GB", "1g.5gb", 5094904955, "4.75", 7, A100_40_MIG),
	CARD("rtx-4050-laptop", "NVIDIA GeForce RTX 4050 Laptop GPU", 6078595072, "6078595072 bytes", CUDA,
	     GITHUB "stanleyedward/high_performance_neural_nets/blob/HEAD/README.md"),
	CARD("rtx-2060-6gb", "NVIDIA GeForce RTX 2060 6GB", 6204424192, "5917 MB", CUDA,
	     HASHCAT("NVIDIA_GeForce_RTX_2060_6GB")),
	MIG("a30", "A30", "1g.6gb", 6233071289, "5.81", 4, A30_MIG),
	CARD("gtx-1660ti", "GeForce GTX 1660 Ti", 6233784320, "5.81 GiB", CUDA,
	     GITHUB "zhou13/lcnn/issues/23"),
	CARD("gtx-1060-6gb", "GeForce GTX 1060 6GB", 6357516288, "6063 MB", CUDA,
	     GITHUB "tnAnGel/HashCat-Benchmark/blob/HEAD/NVIDIA%20GeForce%20GTX%201060%206GB/"
	     "NVIDIA%20GeForce%20GTX%201060%206GB%20%E2%80%94%20its5Q%20v6.2.6-813-g686bc227"
	     "c.md"),
	CARD("rtx-3070", "NVIDIA GeForce RTX 3070", 8248098816, "7866 MB", CUDA,
	     HASHCAT("NVIDIA_GeForce_RTX_3070_8GB")),
	CARD("rtx-3060ti", "NVIDIA GeForce RTX 3060 Ti", 8350859264, "7964 MB", CUDA,
	     HASHCAT("NVIDIA_GeForce_RTX_3060_Ti_8GB")),
	CARD("rtx-3050-8gb", "NVIDIA GeForce RTX 3050", 8352169984, "8352169984 bytes", OpenCL,
	     GITHUB "nohzen/opencl/blob/HEAD/info/clinfo_desktop.txt"),
	CARD("gtx-1080", "NVIDIA GeForce GTX 1080", 8498708480, "8105 MB", CUDA,
	     HASHCAT("NVIDIA_GeForce_GTX_1080_8GB")),
	CARD("gtx-1070", "NVIDIA GeForce GTX 1070", 8499757056, "8106 MB", CUDA,
	     HASHCAT("NVIDIA_GeForce_GTX_1070_8GB")),
	MIG("a100-80gb", "A100 80GB", "1g.10gb", 10195178619, "9.50", 7, A100_80_MIG),
	CARD("rtx-3080-10gb", "NVIDIA GeForce RTX 3080 10GB", 10368319488, "9888 MB", CUDA,
	     HASHCAT("NVIDIA_GeForce_RTX_3080_10GB")),
	MIG("a100-40gb", "A100 40GB", "2g.10gb", 10463614075, "9.75", 3, A100_40_MIG),
	MIG("h100-80gb", "H100 80GB", "1g.10gb", 10463614075, "9.75", 7, H100_MIG),
	CARD("rtx-2080ti", "GeForce RTX 2080 Ti", 11545870336, "11011 MB", OpenCL,
	     GITHUB "ProjectPhysX/OpenCL-Benchmark/blob/HEAD/README.md"),
	CARD("gtx-1080ti", "NVIDIA GeForce GTX 1080 Ti", 11719933952, "10.92 GiB", CUDA,
	     GITHUB "Rubics-Xuan/TransBTS/issues/45"),
	CARD("rtx-a2000-12gb", "NVIDIA RTX A2000 12GB", 12375293952, "11.53 GiB", CUDA,
	     GITHUB "vllm-project/vllm/issues/12030"),
	CARD("rtx-3080ti", "NVIDIA GeForce RTX 3080 Ti", 12519997440, "11940 MB", CUDA,
	     HASHCAT("NVIDIA_GeForce_RTX_3080_Ti_12GB")),
	MIG("a30", "A30", "2g.12gb", 12546673214, "11.69", 2, A30_MIG),
	CARD("rtx-4070", "NVIDIA GeForce RTX 4070", 12581863424, "11999 MB", CUDA,
	     HASHCAT("NVIDIA_GeForce_RTX_4070_12GB")),
	CARD("rtx-3060-12gb", "NVIDIA GeForce RTX 3060", 12594446336, "12011 MB", CUDA,
	     GITHUB "davrot/pytutorial/blob/HEAD/pytorch/cuda/README.md"),
	CARD("t4", "Tesla T4", 15832449024, "14.75 GiB", CUDA,
	     GITHUB "hpcaitech/Open-Sora/issues/697"),
	CARD("rtx-5070ti", "NVIDIA GeForce RTX 5070 Ti", 16616783872, "15847 MB", CUDA,
	     GITHUB "dosoos/hashcat_speeds/blob/HEAD/benchmarks/RTX5070Ti.txt"),
	CARD("rtx-5080", "NVIDIA GeForce RTX 5080", 16616783872, "15.48 GiB", CUDA,
	     GITHUB "vllm-project/vllm/issues/14452"),
	CARD("rtx-5060ti-16gb", "NVIDIA GeForce RTX 5060 Ti", 16617897984, "16617897984 bytes", CUDA,
	     GITHUB "Jumperkables/cuda-benchmarking/blob/HEAD/00_deviceQuery/README.md"),
	CARD("rtx-4060ti-16gb", "NVIDIA GeForce RTX 4060 Ti 16GB", 16754147328, "15978 MB", CUDA,
	     HASHCAT("NVIDIA_GeForce_RTX_4060_Ti_16GB")),
	CARD("rtx-a4000", "NVIDIA RTX A4000", 16756244480, "15.61 GiB", CUDA,
	     GITHUB "DengKaiCQ/VGGT-Long/issues/6"),
	CARD("rtx-4080-super", "NVIDIA GeForce RTX 4080 SUPER", 16852713472, "16072 MB", CUDA,
	     HASHCAT("NVIDIA_GeForce_RTX_4080_SUPER_16GB")),
	CARD("v100-16gb", "Tesla V100-SXM2-16GB", 16944988160, "16160 MB", OpenCL,
	     GITHUB "tnAnGel/HashCat-Benchmark/blob/HEAD/NVIDIA%20Tesla%20V100%20SXM2%2016GB/"
	     "NVIDIA%20Tesla%20V100%20SXM2%2016GB%20%E2%80%94%20synch-cc%20v4.1.0%20%5B8x%20"
	     "rig%5D.md"),
	CARD("p100-16gb", "Tesla P100-PCIE-16GB", 17066622976, "16276 MB", OpenCL,
	     GITHUB "hashcat/hashcat/issues/1489"),
	CARD("quadro-gp100", "Quadro GP100", 17068720128, "16278 MiB", CUDA,
	     GITHUB "NVIDIA/nvbench/blob/HEAD/examples/outputs/"
	     "nvbench.example.exec_tag_sync.list.md"),
	MIG("h200-141gb", "H200", "1g.18gb", 17174500475, "16.00", 7, H200_MIG),
	MIG("a100-80gb", "A100 80GB", "2g.20gb", 20932596859, "19.50", 3, A100_80_MIG),
	MIG("a100-40gb", "A100 40GB", "3g.20gb", 21061445878, "19.62", 2, A100_40_MIG),
	MIG("a100-40gb", "A100 40GB", "4g.20gb", 21061445878, "19.62", 1, A100_40_MIG),
	MIG("h100-80gb", "H100 80GB", "1g.20gb", 21061445878, "19.62", 4, H100_MIG),
	MIG("h100-80gb", "H100 80GB", "2g.20gb", 21061445878, "19.62", 3, H100_MIG),
	MIG("b200", "B200", "1g.23gb", 22006338683, "20.50", 7, B200_MIG),
	CARD("l4", "NVIDIA L4", 23570219008, "23570219008 bytes", CUDA,
	     GITHUB "thamada/nvidia-smi/blob/HEAD/gls/L4_deviceQuery.py"),
	CARD("a10", "NVIDIA A10", 23609475072, "23609475072 bytes", CUDA,
	     GITHUB "aalanwyr/face2cuda/blob/HEAD/step2cuda/README.md"),
	CARD("p40", "Tesla P40", 24024973312, "22.38 GiB", CUDA,
	     GITHUB "LinkSoul-AI/Chinese-Llama-2-7b/issues/56"),
	MIG("a30", "A30", "4g.24gb", 25227564155, "23.50", 1, A30_MIG),
	CARD("a30", "NVIDIA A30", 25260195840, "23.53 GiB", CUDA,
	     GITHUB "google/RB-Modulation/issues/5"),
	CARD("rtx-3090", "NVIDIA GeForce RTX 3090", 25286672384, "25286672384 bytes", CUDA,
	     GITHUB "Jumperkables/cuda-benchmarking/blob/HEAD/00_deviceQuery/README.md"),
	CARD("rtx-4090", "NVIDIA GeForce RTX 4090", 25386352640, "25386352640 bytes", CUDA,
	     GITHUB "thamada/nvidia-smi/blob/HEAD/gls/RTX4090_deviceQuery.py"),
	CARD("rtx-3090ti", "NVIDIA GeForce RTX 3090 Ti", 25417482240, "24240 MB", CUDA,
	     GITHUB "tnAnGel/HashCat-Benchmark/blob/HEAD/NVIDIA%20GeForce%20RTX%203090%20Ti/"
	     "NVIDIA%20GeForce%20RTX%203090%20Ti%20%E2%80%94%20shivams%20v6.2.5%20%5B2x%20ri"
	     "g%5D.md"),
	CARD("rtx-5090", "NVIDIA GeForce RTX 5090", 33680261120, "32120 MB", CUDA,
	     GITHUB "dosoos/hashcat_speeds/blob/HEAD/benchmarks/RTX5090.txt"),
	CARD("v100-32gb", "V100 32GB", 34075574272, "31.74 GiB", CUDA,
	     GITHUB "liucongg/ChatGLM-Finetuning/issues/73"),
	CARD("quadro-gv100", "Quadro GV100", 34086060032, "32507 MiB", CUDA,
	     GITHUB "NVIDIA/nvbench/blob/HEAD/examples/outputs/"
	     "nvbench.example.exec_tag_sync.list.md"),
	MIG("h200-141gb", "H200", "1g.35gb", 34622805115, "32.25", 4, H200_MIG),
	MIG("h200-141gb", "H200", "2g.35gb", 34622805115, "32.25", 3, H200_MIG),
	MIG("a100-80gb", "A100 80GB", "3g.40gb", 42138997883, "39.25", 2, A100_80_MIG),
	MIG("a100-80gb", "A100 80GB", "4g.40gb", 42138997883, "39.25", 1, A100_80_MIG),
	CARD("a100-40gb", "NVIDIA A100-SXM4-40GB", 42298834944, "42298834944 bytes", CUDA,
	     GITHUB "bottlerocket-os/bottlerocket/pull/3873"),
	MIG("a100-40gb", "A100 40GB", "7g.40gb", 42407433339, "39.50", 1, A100_40_MIG),
	MIG("h100-80gb", "H100 80GB", "3g.40gb", 42407433339, "39.50", 2, H100_MIG),
	MIG("h100-80gb", "H100 80GB", "4g.40gb", 42407433339, "39.50", 1, H100_MIG),
	MIG("b200", "B200", "1g.45gb", 47507707003, "44.25", 4, B200_MIG),
	MIG("b200", "B200", "2g.45gb", 47507707003, "44.25", 3, B200_MIG),
	CARD("a40", "NVIDIA A40", 47608692736, "47608692736 bytes", CUDA,
	     GITHUB "thamada/nvidia-smi/blob/HEAD/nvsim/A40x10_deviceQuery.py"),
	CARD("l40", "NVIDIA L40", 47669313536, "44.40 GiB", CUDA,
	     GITHUB "QwenLM/Qwen3-VL/issues/2097"),
	CARD("l40s", "NVIDIA L40S", 47703916544, "45494 MB", CUDA,
	     GITHUB "tnAnGel/HashCat-Benchmark/blob/HEAD/NVIDIA%20L40S/"
	     "NVIDIA%20L40S%20%E2%80%94%20bigpick%20v6.2.6-851-g6716447df%20%5BData-center%5"
	     "D.md"),
	CARD("rtx-6000-ada", "NVIDIA RTX 6000 Ada Generation", 50875858944, "48519 MB", CUDA,
	     GITHUB "dosoos/hashcat_speeds/blob/HEAD/benchmarks/RTX6000Ada.txt"),
	CARD("quadro-rtx-8000", "Quadro RTX 8000", 50954502144, "47.46 GiB", CUDA,
	     GITHUB "Victarry/stable-dreambooth/issues/8"),
	CARD("rtx-a6000", "NVIDIA RTX A6000", 51040485376, "48676 MB", CUDA,
	     GITHUB "pytorch/ao/blob/2a18357813a661f9db05459e15af7a4ea0488997/torchao/prototype/"
	     "hqq/README.md"),
	MIG("h200-141gb", "H200", "3g.71gb", 74619688059, "69.50", 2, H200_MIG),
	MIG("h200-141gb", "H200", "4g.71gb", 74619688059, "69.50", 1, H200_MIG),
	MIG("a100-80gb", "A100 80GB", "7g.80gb", 84820235387, "79.00", 1, A100_80_MIG),
	CARD("h100-80gb", "NVIDIA H100 80GB HBM3 (SXM)", 84938850304, "79.11 GiB", CUDA,
	     GITHUB "vllm-project/vllm/issues/27508"),
	CARD("a100-80gb", "NVIDIA A100-SXM4-80GB", 84971356160, "79.14 GiB", CUDA,
	     GITHUB "lianqi1008/Control-GIC/issues/6"),
	MIG("h100-80gb", "H100 80GB", "7g.80gb", 85088670843, "79.25", 1, H100_MIG),
	CARD("h100-nvl-94gb", "NVIDIA H100 NVL", 99861594112, "99861594112 bytes", CUDA,
	     GITHUB "thamada/nvidia-smi/blob/HEAD/gls/H100NVLx2_deviceQuery.py"),
	CARD("gh200-96gb", "NVIDIA GH200 480GB", 102005473280, "97280 MB", OpenCL,
	     GITHUB "mredenti/PowerCapping/blob/HEAD/configuration/OpenCL_benchmark.md"),
	MIG("h200-141gb", "H200", "7g.141gb", 150050051195, "139.75", 1, H200_MIG),
	CARD("h200-141gb", "NVIDIA H200", 150109945856, "143156 MB", CUDA,
	     GITHUB "ai-bot-pro/achatbot/blob/298019b35ebdd32d4ec0daae998b2308099ba77c/deploy/"
	     "modal/src/llm/vllm/vlm/skywork_r1v.py"),
	CARD("b200", "NVIDIA B200", 191514017792, "182642 MB", CUDA,
	     GITHUB "tnAnGel/HashCat-Benchmark/blob/HEAD/NVIDIA%20B200/"
	     "NVIDIA%20B200%20%E2%80%94%20javydekoning%20v7.1.2%20%5B8x%20rig%5D.md"),
	CARD("mi300x", "AMD Instinct MI300X", 206141652992, "196592 MB", HIP,
	     GITHUB "thamada/nvidia-smi/blob/HEAD/package/MI300X_deviceQuery.py"),
	{ NULL, NULL, 0, NULL, NULL, 0, NULL },
};
