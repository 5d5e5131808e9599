/* recording.c - the file of a process: a header, which may be written again, and lines. */
#include "recorder/recording.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

#include "fragsim/version.h"
#include "recorder/driver_devices.h"
#include "recorder/function_pointers.h"
#include "recorder/recorder.h"

#define PATH_ROOM 4096
#define HEADER_ROOM (1024 + 256 * FRAG_DEVICES_MAX)

/* A frame of one raw block, of which length and place of the text are known beforehand. */
#define FRAME_HEAD 10

static char name[PATH_ROOM - 32];       /* that was asked for */
static char path[PATH_ROOM];
static int fd = -1;
static size_t header_length;            /* of the text */
static bool packed;

static size_t (*zstd_compress)(void *, size_t, const void *, size_t, int);
static size_t (*zstd_bound)(size_t);
static unsigned (*zstd_is_error)(size_t);
static char *frame;                     /* room for a compressed batch */
static size_t frame_room;

void frag_recording_name(const char *path_wanted)
{
	snprintf(name, sizeof(name), "%s", path_wanted);
}

void frag_recording_forget(void)
{
	if (fd >= 0)
		close(fd);
	fd = -1;
}

static bool write_all(const char *from, size_t length)
{
	while (length) {
		const ssize_t n = write(fd, from, length);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return false;
		from += n;
		length -= (size_t)n;
	}
	return true;
}

/* NAME, NAME.PID, NAME.PID.2 and so on: the first that is not there yet. */
static bool create(void)
{
	const int pid = (int)getpid();

	for (int i = 0; i < 10000; i++) {
		if (i == 0)
			snprintf(path, sizeof(path), "%s", name);
		else if (i == 1)
			snprintf(path, sizeof(path), "%s.%d", name, pid);
		else
			snprintf(path, sizeof(path), "%s.%d.%d", name, pid, i);
		fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
		if (fd >= 0 || errno != EEXIST)
			return fd >= 0;
	}
	return false;
}

static bool ends_in_zst(void)
{
	const size_t length = strlen(name);

	return length > 4 && strcmp(name + length - 4, ".zst") == 0;
}

static void load_zstd(void)
{
	void *library = ends_in_zst() ? dlopen("libzstd.so.1", RTLD_NOW | RTLD_LOCAL) : NULL;

	if (!library)
		return;
	zstd_compress = (size_t (*)(void *, size_t, const void *, size_t, int))
		dlsym(library, "ZSTD_compress");
	zstd_bound = (size_t (*)(size_t))dlsym(library, "ZSTD_compressBound");
	zstd_is_error = (unsigned (*)(size_t))dlsym(library, "ZSTD_isError");
	packed = zstd_compress && zstd_bound && zstd_is_error;
}

/* As wide as it ever gets, so that it can be written again when more is known. */
static size_t make_header(char *buf)
{
	const size_t room = 1024 + 256u * frag_devices_count();
	size_t n = (size_t)snprintf(buf, room,
				    "{\"format\":\"fragsim-trace\",\"version\":1,\"devices\":");

	n += frag_devices_write(buf + n, room - n);
	n += (size_t)snprintf(buf + n, room - n,
			      ",\"meta\":{\"source\":\"fragsim record " FRAG_VERSION
			      "\",\"process\":%d}}", (int)getpid());
	memset(buf + n, ' ', room - n);
	buf[room - 1] = '\n';
	return room;
}

static void make_frame_head(uint8_t head[FRAME_HEAD], size_t length)
{
	const uint32_t size = (uint32_t)length - 256, block = (uint32_t)length << 3 | 1;

	/* magic; one segment, its size in two bytes; the size; the last block, which is raw */
	memcpy(head, (uint8_t[]){ 0x28, 0xb5, 0x2f, 0xfd, 0x60, (uint8_t)size,
				  (uint8_t)(size >> 8), (uint8_t)block, (uint8_t)(block >> 8),
				  (uint8_t)(block >> 16) }, FRAME_HEAD);
}

bool frag_recording_begin(void)
{
	char text[HEADER_ROOM];
	uint8_t head[FRAME_HEAD];
	bool fine = create();

	if (fine) {
		load_zstd();
		header_length = make_header(text);
		make_frame_head(head, header_length);
		fine = (!packed || write_all((const char *)head, FRAME_HEAD))
		       && write_all(text, header_length);
	}
	if (!fine)
		frag_recorder_give_up(path, strerror(errno));
	return fine;
}

/* A device was used for the first time. */
static bool write_header_again(void)
{
	char text[HEADER_ROOM];

	make_header(text);
	return pwrite(fd, text, header_length, packed ? FRAME_HEAD : 0) == (ssize_t)header_length;
}

static bool write_frame(const char *text, size_t length)
{
	const size_t room = zstd_bound(length);
	size_t n;

	if (room > frame_room) {
		char *larger = realloc(frame, room);

		if (!larger)
			return false;
		frame = larger;
		frame_room = room;
	}
	n = zstd_compress(frame, room, text, length, 1);
	return !zstd_is_error(n) && write_all(frame, n);
}

void frag_recording_write(const char *text, size_t length)
{
	bool fine = !frag_devices_changed() || write_header_again();

	if (fine)
		fine = packed ? write_frame(text, length) : write_all(text, length);
	if (!fine)
		frag_recorder_give_up(path, strerror(errno));
}
