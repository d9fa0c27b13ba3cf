/* Asks libosmogsm, which is loaded at run time, for the keystreams and inputs of GPRS encryption.
 *
 * Each line of the standard input is a question, each line of the standard output its answer:
 *   run ALGORITHM DIRECTION INPUT LENGTH KEY   ->  LENGTH octets of keystream in hexadecimal, or "error N"
 *   ui IOV-UI SAPI LFN OC                      ->  the input of a UI frame
 *   i IOV-I LFN OC                             ->  the input of an I frame
 * Numbers are decimal, the key is 16 octets in hexadecimal. The names and types of what is called are those that the
 * library exports. */

#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

static int (*load)(const char *path);
static int (*run)(uint8_t *out, uint16_t length, int algorithm, uint8_t *key, uint32_t input, int direction);
static uint32_t (*input_ui)(uint32_t iov_ui, uint8_t sapi, uint32_t lfn, uint32_t oc);
static uint32_t (*input_i)(uint32_t iov_i, uint32_t lfn, uint32_t oc);

static void answer(char *line)
{
	unsigned algorithm, direction, input, length, a, b, c, d;
	char digits[33];

	if (sscanf(line, "run %u %u %u %u %32s", &algorithm, &direction, &input, &length, digits) == 5) {
		uint8_t key[16] = { 0 }, out[4096];
		int result = -1;
		for (int n = 0; n < 16; n++)
			sscanf(digits + 2 * n, "%2hhx", &key[n]);
		if (length <= sizeof(out))
			result = run(out, length, algorithm, key, input, direction);
		if (result < 0) {
			printf("error %d\n", result);
			return;
		}
		for (unsigned n = 0; n < length; n++)
			printf("%02x", out[n]);
		printf("\n");
	} else if (sscanf(line, "ui %u %u %u %u", &a, &b, &c, &d) == 4) {
		printf("%u\n", input_ui(a, b, c, d));
	} else if (sscanf(line, "i %u %u %u", &a, &b, &c) == 3) {
		printf("%u\n", input_i(a, b, c));
	} else {
		printf("what?\n");
	}
}

int main(void)
{
	char line[256];
	void *library = dlopen("libosmogsm.so.18", RTLD_NOW);

	if (!library) {
		fprintf(stderr, "%s\n", dlerror());
		return 1;
	}
	*(void **)&load = dlsym(library, "gprs_cipher_load");
	*(void **)&run = dlsym(library, "gprs_cipher_run");
	*(void **)&input_ui = dlsym(library, "gprs_cipher_gen_input_ui");
	*(void **)&input_i = dlsym(library, "gprs_cipher_gen_input_i");
	if (!load || !run || !input_ui || !input_i) {
		fprintf(stderr, "libosmogsm.so.18 does not export what is asked for\n");
		return 1;
	}
	load(NULL);
	while (fgets(line, sizeof(line), stdin))
		answer(line);
	return 0;
}
