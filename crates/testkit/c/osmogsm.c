/* Asks Debian's libosmogsm, which stays outside our programs: it is loaded here, in a process of its own.
 * Each line of standard input is the name of a function and its octet strings in hexadecimal; each line of standard
 * output is the results in hexadecimal, or "refused". */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef uint8_t octets[64];
typedef int a3a8(const uint8_t *ki, const uint8_t *rand, uint8_t *sres, uint8_t *kc);

static void *library;

static void *function(const char *name)
{
	void *found = dlsym(library, name);
	if (!found) {
		fprintf(stderr, "%s is not there\n", name);
		exit(1);
	}
	return found;
}

static void show(const uint8_t *from, size_t length)
{
	printf(" ");
	while (length--)
		printf("%02x", *from++);
}

static void gsm(const char *name, octets in[])
{
	octets sres, kc;
	((a3a8 *)function(name))(in[0], in[1], sres, kc);
	show(sres, 4);
	show(kc, 8);
}

/* OP, K, RAND, SQN, AMF: OPc, MAC-A, MAC-S, RES, CK, IK, AK, AK*, SRES, Kc. */
static void milenage(octets in[])
{
	int (*make_opc)(uint8_t *, const uint8_t *, const uint8_t *) = function("milenage_opc_gen");
	int (*f1)(const uint8_t *, const uint8_t *, const uint8_t *, const uint8_t *, const uint8_t *, uint8_t *,
		  uint8_t *) = function("milenage_f1");
	int (*f2345)(const uint8_t *, const uint8_t *, const uint8_t *, uint8_t *, uint8_t *, uint8_t *, uint8_t *,
		     uint8_t *) = function("milenage_f2345");
	int (*two_g)(const uint8_t *, const uint8_t *, const uint8_t *, uint8_t *, uint8_t *) =
		function("gsm_milenage");
	octets opc, mac_a, mac_s, res, ck, ik, ak, ak_star, sres, kc;
	make_opc(opc, in[1], in[0]);
	f1(opc, in[1], in[2], in[3], in[4], mac_a, mac_s);
	f2345(opc, in[1], in[2], res, ck, ik, ak, ak_star);
	two_g(opc, in[1], in[2], sres, kc);
	show(opc, 16);
	show(mac_a, 8);
	show(mac_s, 8);
	show(res, 8);
	show(ck, 16);
	show(ik, 16);
	show(ak, 6);
	show(ak_star, 6);
	show(sres, 4);
	show(kc, 8);
}

/* OPc, AMF, K, SQN, RAND: AUTN, IK, CK, RES. */
static void generate(octets in[])
{
	void (*call)(const uint8_t *, const uint8_t *, const uint8_t *, const uint8_t *, const uint8_t *, uint8_t *,
		     uint8_t *, uint8_t *, uint8_t *, size_t *) = function("milenage_generate");
	octets autn, ik, ck, res;
	size_t length = 8;
	call(in[0], in[1], in[2], in[3], in[4], autn, ik, ck, res, &length);
	show(autn, 16);
	show(ik, 16);
	show(ck, 16);
	show(res, length);
}

/* OPc, K, RAND, AUTS: SQN. */
static void auts(octets in[])
{
	int (*call)(const uint8_t *, const uint8_t *, const uint8_t *, const uint8_t *, uint8_t *) =
		function("milenage_auts");
	octets sqn;
	if (call(in[0], in[1], in[2], in[3], sqn))
		printf(" refused");
	else
		show(sqn, 6);
}

/* OPc, K, SQN, RAND, AUTN, as a card whose highest SQN is that: RES, or AUTS where AUTN is not fresh. */
static void check(octets in[])
{
	int (*call)(const uint8_t *, const uint8_t *, const uint8_t *, const uint8_t *, const uint8_t *, uint8_t *,
		    uint8_t *, uint8_t *, size_t *, uint8_t *) = function("milenage_check");
	octets ik, ck, res, own;
	size_t length = 8;
	switch (call(in[0], in[1], in[2], in[3], in[4], ik, ck, res, &length, own)) {
	case 0:
		show(res, length);
		break;
	case -2:
		printf(" auts");
		show(own, 14);
		break;
	default:
		printf(" refused");
	}
}

/* CK, IK: Kc, Kc128, and CK again from Kc. */
static void keys(octets in[])
{
	void (*c3)(uint8_t *, const uint8_t *, const uint8_t *) = function("osmo_auth_c3");
	void (*c4)(uint8_t *, const uint8_t *) = function("osmo_c4");
	void (*kc128)(const uint8_t *, const uint8_t *, uint8_t *) = function("osmo_kdf_kc128");
	octets kc, long_kc, ck;
	c3(kc, in[0], in[1]);
	kc128(in[0], in[1], long_kc);
	c4(ck, kc);
	show(kc, 8);
	show(long_kc, 16);
	show(ck, 16);
}

static uint32_t number(const uint8_t *octets, size_t length)
{
	uint32_t value = 0;
	while (length--)
		value = value << 8 | *octets++;
	return value;
}

static void show_number(uint32_t value)
{
	uint8_t octets[] = { value >> 24, value >> 16, value >> 8, value };
	show(octets, sizeof(octets));
}

/* Algorithm, direction (1 octet each), input (4), length (2), key: that many octets of keystream of a GEA. */
static void keystream(octets in[])
{
	int (*load)(const char *) = function("gprs_cipher_load");
	int (*run)(uint8_t *, uint16_t, int, uint8_t *, uint32_t, int) = function("gprs_cipher_run");
	uint8_t out[4096];
	uint16_t length = number(in[3], 2);
	load(NULL);
	if (length > sizeof(out) || run(out, length, in[0][0], in[4], number(in[2], 4), in[1][0]) < 0)
		printf(" refused");
	else
		show(out, length);
}

/* IOV-UI (4), SAPI (1), LFN (4), OC (4): the input of a UI frame. */
static void input_ui(octets in[])
{
	uint32_t (*call)(uint32_t, uint8_t, uint32_t, uint32_t) = function("gprs_cipher_gen_input_ui");
	show_number(call(number(in[0], 4), in[1][0], number(in[2], 4), number(in[3], 4)));
}

/* IOV-I, LFN, OC (4 octets each): the input of an I frame. */
static void input_i(octets in[])
{
	uint32_t (*call)(uint32_t, uint32_t, uint32_t) = function("gprs_cipher_gen_input_i");
	show_number(call(number(in[0], 4), number(in[1], 4), number(in[2], 4)));
}

static void read_octets(const char *text, uint8_t *to)
{
	unsigned value;
	for (size_t n = 0; n < sizeof(octets) && sscanf(text + 2 * n, "%2x", &value) == 1; n++)
		to[n] = value;
}

int main(int argc, char **argv)
{
	char line[1024];
	library = dlopen(argc > 1 ? argv[1] : "libosmogsm.so.18", RTLD_NOW);
	if (!library) {
		fprintf(stderr, "%s\n", dlerror());
		return 2;
	}
	while (fgets(line, sizeof(line), stdin)) {
		octets in[5] = { 0 };
		char *name = strtok(line, " \n");
		char *field;
		for (int n = 0; n < 5 && (field = strtok(NULL, " \n")); n++)
			read_octets(field, in[n]);
		if (!name)
			continue;
		printf("%s", name);
		if (!strncmp(name, "comp128", 7))
			gsm(name, in);
		else if (!strcmp(name, "milenage"))
			milenage(in);
		else if (!strcmp(name, "generate"))
			generate(in);
		else if (!strcmp(name, "auts"))
			auts(in);
		else if (!strcmp(name, "check"))
			check(in);
		else if (!strcmp(name, "keys"))
			keys(in);
		else if (!strcmp(name, "keystream"))
			keystream(in);
		else if (!strcmp(name, "input_ui"))
			input_ui(in);
		else if (!strcmp(name, "input_i"))
			input_i(in);
		printf("\n");
		fflush(stdout);
	}
	return 0;
}
