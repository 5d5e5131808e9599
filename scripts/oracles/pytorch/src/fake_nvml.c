/* fake_nvml.c - a libnvidia-ml.so.1 that knows nothing.
 *
 * The allocator opens it to ask about the fabric (without it, expandable
 * segments crash) and to list processes for its out-of-memory message.
 */
#define NOT_SUPPORTED 3

static int device;

int nvmlInit_v2(void)
{
	return 0;
}

int nvmlDeviceGetHandleByPciBusId_v2(const char *id, void **handle)
{
	(void)id;
	*handle = &device;
	return 0;
}

int nvmlDeviceGetNvLinkRemoteDeviceType(void *handle, unsigned link, int *type)
{
	(void)handle;
	(void)link;
	*type = 255;
	return NOT_SUPPORTED;
}

int nvmlDeviceGetNvLinkRemotePciInfo_v2(void *handle, unsigned link, void *pci)
{
	(void)handle;
	(void)link;
	(void)pci;
	return NOT_SUPPORTED;
}

int nvmlDeviceGetComputeRunningProcesses(void *handle, unsigned *count, void *list)
{
	(void)handle;
	(void)list;
	*count = 0;
	return 0;
}

int nvmlSystemGetCudaDriverVersion_v2(int *version)
{
	*version = 13020;
	return 0;
}
