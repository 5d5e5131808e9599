/*
 * plugin.c - policies in shared objects, checked as far as that can be.
 *
 * What was loaded stays so: choices and results point into it, wherever they were
 * copied to. A file named twice is loaded once.
 */
#include "fragsim/plugin.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#ifdef __ELF__
#include <link.h>
#endif

#include "policy/plugin_watch.h"
#include "policy/policies.h"

struct plugin {
	struct plugin *next;
	void *handle;
	struct frag_policy_ops ops;     /* its table, with an index of ours */
};

static struct plugin *plugins;
static pthread_mutex_t plugins_lock = PTHREAD_MUTEX_INITIALIZER;

const struct frag_plugin_watch *frag_plugin_watch;

bool frag_is_plugin(const struct frag_policy_ops *ops)
{
	const struct plugin *p;

	pthread_mutex_lock(&plugins_lock);
	for (p = plugins; p && &p->ops != ops; p = p->next)
		;
	pthread_mutex_unlock(&plugins_lock);
	return p != NULL;
}

static const struct frag_host_ops host = {
#define X(type, name, params, args) .name = frag_##name,
#define V(name, params, args) .name = frag_##name,
	FRAG_HOST_CALLS(X, V)
#undef X
#undef V
};

#define EXPORT "its source must end in FRAG_PLUGIN(TABLE)"

static int plugin_refuse(const char *path, const char *why, struct frag_error *err)
{
	return frag_fail(err, FRAG_EPOLICY, "plug-in %.400s: %.400s", path, why);
}

static int refuse_errno(const char *path, struct frag_error *err)
{
	return errno == ENOMEM ? frag_fail_nomem(err) : plugin_refuse(path, strerror(errno), err);
}

/*
 * The loader maps the parts that the file's header lists and fails on missing ones: it blocks on
 * a pipe, and crashes on a truncated file. The table of sections is at the end of a shared
 * object, so its presence proves that the file is complete.
 */
static int check_file(const char *path, struct frag_error *err)
{
	struct stat st;

	if (stat(path, &st))
		return refuse_errno(path, err);
	if (!S_ISREG(st.st_mode))
		return plugin_refuse(path, "not a regular file", err);
#ifdef __ELF__
	ElfW(Ehdr) header;
	FILE *f = fopen(path, "rb");
	size_t got;

	if (!f)
		return refuse_errno(path, err);
	got = fread(&header, 1, sizeof(header), f);
	fclose(f);
	if (got < sizeof(header) || memcmp(header.e_ident, ELFMAG, SELFMAG) != 0)
		return plugin_refuse(path, "not a shared object", err);
	if (header.e_shoff + (uint64_t)header.e_shnum * header.e_shentsize > (uint64_t)st.st_size)
		return plugin_refuse(path, "a shared object that was cut short", err);
#endif
	return 0;
}

/* Do the sizes of both sides' structures agree? */
static int check_fit(const char *path, const struct frag_plugin *said, struct frag_error *err)
{
	static const uint32_t sizes[] = { FRAG_PLUGIN_SIZES };

	if (!said)
		return plugin_refuse(path, "no symbol frag_plugin in it: " EXPORT, err);
	if (memcmp(said->magic, FRAG_PLUGIN_MAGIC, sizeof(said->magic)) != 0)
		return plugin_refuse(
			path, "its symbol frag_plugin is not that of a fragsim plug-in", err);
	if (said->version != FRAG_PLUGIN_VERSION)
		return frag_fail(err, FRAG_EPOLICY, "plug-in %.400s: made for version %u of the"
				 " plug-in interface, but this is version %d: compile it again with"
				 " the headers of this fragsim", path, said->version,
				 FRAG_PLUGIN_VERSION);
	if (memcmp(said->sizes, sizes, sizeof(sizes)) != 0)
		return plugin_refuse(
			path,
			"its structures have other sizes than this fragsim's: compile it"
			" again with the headers of this fragsim",
			err);
	if (!said->ops || !said->host)
		return plugin_refuse(path, "it names no table", err);
	return 0;
}

static int check_table(const char *path, const struct frag_policy_ops *ops,
		       struct frag_error *err)
{
	struct frag_error why = { .code = 0 };

	if (frag_policy_check(ops, &why))
		return plugin_refuse(path, why.message, err);
	for (uint32_t i = 0; frag_policies()[i]; i++)
		if (strcmp(frag_policies()[i]->name, ops->name) == 0)
			return frag_fail(err, FRAG_EPOLICY,
					 "plug-in %.400s: fragsim has a policy"
					 " %s already: choose another name",
					 path, ops->name);
	return 0;
}

/* What FRAG_PLUGIN defines: where one of these is missing, that is. */
static bool exported_defines(const char *symbol)
{
	static const char *const names[] = {
#define X(type, name, params, args) "frag_" #name,
#define V(name, params, args) "frag_" #name,
		FRAG_HOST_CALLS(X, V)
#undef X
#undef V
		"frag_fail",
	};
	size_t length = strcspn(symbol, " ,");

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strlen(names[i]) == length && memcmp(names[i], symbol, length) == 0)
			return true;
	return false;
}

/* The loader's own reason, without the path that precedes it. */
static int refuse_load(const char *path, const char *why, struct frag_error *err)
{
	static const char missing[] = "undefined symbol: ";
	const char *symbol;

	if (!why || strstr(why, "out of memory") || strstr(why, strerror(ENOMEM)))
		return frag_fail_nomem(err);
	if (strncmp(why, path, strlen(path)) == 0 && strncmp(why + strlen(path), ": ", 2) == 0)
		why += strlen(path) + 2;
	symbol = strstr(why, missing);
	return frag_fail(err, FRAG_EPOLICY, "plug-in %.400s: %.400s%s", path, why,
			 symbol && exported_defines(symbol + strlen(missing)) ? ": " EXPORT : "");
}

static const struct frag_policy_ops *find_loaded(void *handle)
{
	for (const struct plugin *p = plugins; p; p = p->next)
		if (p->handle == handle)
			return &p->ops;
	return NULL;
}

/* Enters what dlopen gave; 0 or why not. The lock is held. */
static int plugin_enter(const char *path, void *handle, const struct frag_policy_ops **out,
			struct frag_error *err)
{
	const struct frag_plugin *said = dlsym(handle, "frag_plugin");
	int rc = check_fit(path, said, err);
	struct plugin *p;

	if (rc)
		return rc;
	p = calloc(1, sizeof(*p));
	if (!p)
		return frag_fail_nomem(err);
	p->handle = handle;
	p->ops = *said->ops;
	rc = check_table(path, &p->ops, err);
	if (rc) {
		free(p);
		return rc;
	}
	*said->host = &host;
	p->next = plugins;
	plugins = p;
	*out = &p->ops;
	return 0;
}

/* Loads a plug-in, or returns the policy of one that is already loaded. */
int frag_plugin_load(const struct frag_policy_ops **out, const char *path, struct frag_error *err)
{
	const struct frag_policy_ops *known;
	void *handle;
	int rc = check_file(path, err);

	if (rc)
		return rc;
	pthread_mutex_lock(&plugins_lock);
	/* what runs when it is loaded is its own, too */
	frag_plugin_begin(path, NULL);
	handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	frag_plugin_end();
	known = handle ? find_loaded(handle) : NULL;
	if (!handle)
		rc = refuse_load(path, dlerror(), err);
	else if (known)
		*out = known;
	else
		rc = plugin_enter(path, handle, out, err);
	if (handle && (rc || known))
		dlclose(handle);
	pthread_mutex_unlock(&plugins_lock);
	return rc;
}
