/* Asks Debian's libspandsp about V.42bis. The library stays outside our programs: it is loaded here, in a process of its own.
 * Questions: "init" P1 P2 MODE (0 as it decides, 1 always compressed, 2 never), "compress" N-PDU, "decompress" N-PDU. */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define OCTETS_MAX 16384

typedef void put(void *user_data, const uint8_t *octets, int length);
typedef void *init_function(void *, int, int, int, put *, void *, int, put *, void *, int);
typedef int octets_function(void *, const uint8_t *, int);
typedef int flush_function(void *);
typedef void mode_function(void *, int);

struct result {
	size_t length;
	uint8_t octets[OCTETS_MAX];
};

static void *library;
static struct result compressed, decompressed;
static void *coder;

static void *function(const char *name)
{
	void *found = dlsym(library, name);
	if (!found) {
		fprintf(stderr, "%s is not there\n", name);
		exit(1);
	}
	return found;
}

static void keep(void *user_data, const uint8_t *octets, int length)
{
	struct result *result = user_data;
	for (int n = 0; n < length && result->length < OCTETS_MAX; n++)
		result->octets[result->length++] = octets[n];
}

static void show(struct result *result)
{
	if (!result->length)
		printf(" nothing");
	else
		printf(" ");
	for (size_t n = 0; n < result->length; n++)
		printf("%02x", result->octets[n]);
	result->length = 0;
}

static int read_octets(const char *text, uint8_t *to)
{
	unsigned value;
	int n = 0;
	while (text && n < OCTETS_MAX && sscanf(text + 2 * n, "%2x", &value) == 1)
		to[n++] = value;
	return n;
}

static void init(const uint8_t *p1, const uint8_t *p2, const uint8_t *mode)
{
	init_function *call = function("v42bis_init");
	if (coder)
		((flush_function *)function("v42bis_free"))(coder);
	/* One octet at a time, or it keeps some of them across a flush. */
	coder = call(NULL, 3, p1[0] << 8 | p1[1], p2[0], keep, &compressed, 1, keep, &decompressed, 1);
	if (!coder)
		printf(" refused");
	else
		((mode_function *)function("v42bis_compression_control"))(coder, mode[0]);
	compressed.length = decompressed.length = 0;
}

static void convert(const char *name, const char *flush, struct result *result, const uint8_t *octets, int length)
{
	if (((octets_function *)function(name))(coder, octets, length)) {
		printf(" refused");
		result->length = 0;
	} else {
		((flush_function *)function(flush))(coder);
		show(result);
	}
}

int main(int argc, char **argv)
{
	static char line[2 * OCTETS_MAX + 64];
	static uint8_t in[3][OCTETS_MAX];
	library = dlopen(argc > 1 ? argv[1] : "libspandsp.so.2", RTLD_NOW);
	if (!library) {
		fprintf(stderr, "%s\n", dlerror());
		return 2;
	}
	while (fgets(line, sizeof(line), stdin)) {
		char *name = strtok(line, " \n");
		int length = 0;
		for (int n = 0; n < 3; n++) {
			int read = read_octets(strtok(NULL, " \n"), in[n]);
			length = n ? length : read;
		}
		if (!name)
			continue;
		printf("%s", name);
		if (!strcmp(name, "init"))
			init(in[0], in[1], in[2]);
		else if (!strcmp(name, "compress"))
			convert("v42bis_compress", "v42bis_compress_flush", &compressed, in[0], length);
		else if (!strcmp(name, "decompress"))
			convert("v42bis_decompress", "v42bis_decompress_flush", &decompressed, in[0], length);
		printf("\n");
		fflush(stdout);
	}
	return 0;
}
