/* What slcompress.c takes from the program that it was part of. */
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/types.h>
#include <netinet/in.h>
#include <netinet/ip.h>
#include <netinet/tcp.h>
#include "slcompress.h"

struct mbuf {
	char *m_data;
	int m_len;
};

static struct {
	int ips_unaligned;
} ipstat;
