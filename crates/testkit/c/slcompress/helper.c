/* Asks the reference implementation of RFC 1144 about headers. slcompress.c and slcompress.h are as the Regents of the University
 * of California gave them away, but for the number of slots, which the test puts in.
 * Questions: "reset", "compress" CONNECTION-NUMBER-MAY-BE-LEFT-OUT PACKET, "uncompress" TYPE PACKET. */
#include "slcompress.c"

#define OCTETS_MAX 4096
#define ROOM 256

u_int sl_compress_tcp(struct mbuf *, struct ip *, struct slcompress *, int);
int sl_uncompress_tcp(u_char **, int, u_int, struct slcompress *);

static char line[2 * (OCTETS_MAX + ROOM) + 64];
/* Room in front for the headers, and behind for what is read of a packet that ends early. */
static _Alignas(8) u_char buffer[ROOM + OCTETS_MAX + ROOM];

static int read_octets(const char *text, u_char *to)
{
	unsigned value;
	int n = 0;
	while (text && n < OCTETS_MAX && sscanf(text + 2 * n, "%2x", &value) == 1)
		to[n++] = value;
	return n;
}

static void show(const u_char *octets, int length)
{
	printf(length > 0 ? " " : " nothing");
	for (int n = 0; n < length; n++)
		printf("%02x", octets[n]);
}

static void compress(int may_leave_out, int length)
{
	struct mbuf m = { .m_data = (char *)buffer + ROOM, .m_len = length };
	printf(" %02x", sl_compress_tcp(&m, (struct ip *)m.m_data, &comp_s, may_leave_out));
	show((u_char *)m.m_data, m.m_len);
}

static void uncompress(unsigned type, int length)
{
	u_char *packet = buffer + ROOM;
	length = sl_uncompress_tcp(&packet, length, type, &comp_s);
	show(packet, length);
}

int main(void)
{
	sl_compress_init(&comp_s);
	while (fgets(line, sizeof(line), stdin)) {
		char *name = strtok(line, " \n");
		u_char first[OCTETS_MAX] = { 0 };
		memset(buffer, 0, sizeof(buffer));
		read_octets(strtok(NULL, " \n"), first);
		int length = read_octets(strtok(NULL, " \n"), buffer + ROOM);
		if (!name)
			continue;
		printf("%s", name);
		if (!strcmp(name, "reset"))
			sl_compress_init(&comp_s);
		else if (!strcmp(name, "compress"))
			compress(first[0], length);
		else if (!strcmp(name, "uncompress"))
			uncompress(first[0], length);
		printf("\n");
		fflush(stdout);
	}
	return 0;
}
