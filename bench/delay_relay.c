/*-------------------------------------------------------------------------
 *
 * delay_relay.c
 *	  A relay that behaves like distance.
 *
 *	  delay_relay TARGET_SOCKET
 *
 * Listens on a TCP port of 127.0.0.1 that the system chooses, prints it, and
 * connects each client to the Unix socket.  Every chunk is handed on a fixed
 * time after it arrived, in order and independent of all others, so what is
 * sent in one go arrives in one go: latency without serialisation.
 *
 * Commands are lines on standard input, each answered with "ok"; end of file
 * ends the program.
 *
 *	  delay MICROSECONDS	the time for each direction
 *	  handshake 1			new connections wait for TCP's handshake as well,
 *							which takes no time on the loopback interface
 *
 * The Perl relay of the tests can do the same, but its clock is coarser.
 *
 * Copyright (c) 2026, the shard_fdw authors.  PostgreSQL License.
 *
 *-------------------------------------------------------------------------
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#define MAX_STREAMS 1024
#define CHUNK_SIZE 65536

typedef struct Chunk
{
	struct Chunk *next;
	int64_t		due;			/* in ns; nothing to send means end of file */
	size_t		length;
	size_t		sent;
	char		data[];
} Chunk;

/* One direction of one connection. */
typedef struct Stream
{
	int			from;			/* -1: free */
	int			to;
	int			is_read_done;
	int64_t		open_at;		/* what arrives earlier counts from then */
	Chunk	   *first;
	Chunk	   *last;
} Stream;

static Stream streams[MAX_STREAMS];
static int64_t delay;
static int	is_handshake_charged;
static const char *target;

static void
fail(const char *what)
{
	perror(what);
	exit(1);
}

static int64_t
now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * INT64_C(1000000000) + t.tv_nsec;
}

static void
set_up_socket(int fd, int is_tcp)
{
	int			on = 1;

	fcntl(fd, F_SETFL, O_NONBLOCK);
	if (is_tcp)
		setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
}

static int
listen_somewhere(void)
{
	struct sockaddr_in address = {.sin_family = AF_INET};
	socklen_t	length = sizeof(address);
	int			fd = socket(AF_INET, SOCK_STREAM, 0);

	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	if (fd < 0 ||
		bind(fd, (struct sockaddr *) &address, sizeof(address)) != 0 ||
		listen(fd, SOMAXCONN) != 0 ||
		getsockname(fd, (struct sockaddr *) &address, &length) != 0)
		fail("could not listen");
	printf("%d\n", ntohs(address.sin_port));
	fflush(stdout);
	return fd;
}

/* The two directions of a connection are neighbours: 2n and 2n + 1. */
static void
accept_client(int listener)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int			client = accept(listener, NULL, NULL);
	int			server = socket(AF_UNIX, SOCK_STREAM, 0);
	int			pair;

	if (client < 0 || server < 0)
		fail("could not accept");
	strncpy(address.sun_path, target, sizeof(address.sun_path) - 1);
	if (connect(server, (struct sockaddr *) &address, sizeof(address)) != 0)
	{
		close(client);
		close(server);
		return;
	}
	for (pair = 0; pair < MAX_STREAMS && streams[pair].from >= 0; pair += 2)
		;
	if (pair >= MAX_STREAMS)
	{
		fprintf(stderr, "too many connections\n");
		exit(1);
	}
	set_up_socket(client, 1);
	set_up_socket(server, 0);
	memset(&streams[pair], 0, 2 * sizeof(Stream));
	streams[pair].from = streams[pair + 1].to = client;
	streams[pair].to = streams[pair + 1].from = server;
	if (is_handshake_charged)
		streams[pair].open_at = now() + 2 * delay;
}

static void
free_chunks(Stream *stream)
{
	while (stream->first)
	{
		Chunk	   *next = stream->first->next;

		free(stream->first);
		stream->first = next;
	}
}

static void
close_pair(Stream *stream)
{
	Stream	   *pair = &streams[(stream - streams) & ~1];

	close(pair[0].from);
	close(pair[0].to);
	free_chunks(&pair[0]);
	free_chunks(&pair[1]);
	pair[0].from = pair[1].from = -1;
}

static void
read_chunk(Stream *stream)
{
	Chunk	   *chunk = malloc(sizeof(Chunk) + CHUNK_SIZE);
	ssize_t		length = read(stream->from, chunk->data, CHUNK_SIZE);

	if (length < 0 && (errno == EAGAIN || errno == EINTR))
	{
		free(chunk);
		return;
	}
	if (length <= 0)
	{
		stream->is_read_done = 1;
		length = 0;
	}
	chunk->next = NULL;
	chunk->due = now();
	if (chunk->due < stream->open_at)
		chunk->due = stream->open_at;
	chunk->due += delay;
	chunk->length = length;
	chunk->sent = 0;
	if (stream->first)
		stream->last->next = chunk;
	else
		stream->first = chunk;
	stream->last = chunk;
}

/* Sends what is due; true when the receiver does not take more for now. */
static int
send_due(Stream *stream, int64_t at)
{
	while (stream->from >= 0 && stream->first && stream->first->due <= at)
	{
		Chunk	   *chunk = stream->first;
		ssize_t		n;

		if (chunk->length == 0)
		{
			close_pair(stream);
			return 0;
		}
		n = write(stream->to, chunk->data + chunk->sent,
				  chunk->length - chunk->sent);
		if (n < 0)
		{
			if (errno == EAGAIN || errno == EINTR)
				return 1;
			close_pair(stream);
			return 0;
		}
		chunk->sent += n;
		if (chunk->sent == chunk->length)
		{
			stream->first = chunk->next;
			free(chunk);
		}
	}
	return 0;
}

static void
read_command(void)
{
	char		line[64];
	long		value;

	if (fgets(line, sizeof(line), stdin) == NULL)
		exit(0);
	if (sscanf(line, "delay %ld", &value) == 1)
		delay = value * 1000;
	else if (sscanf(line, "handshake %ld", &value) == 1)
		is_handshake_charged = value != 0;
	printf("ok\n");
	fflush(stdout);
}

int
main(int argc, char **argv)
{
	int			listener;

	if (argc != 2)
	{
		fprintf(stderr, "usage: %s TARGET_SOCKET\n", argv[0]);
		return 2;
	}
	target = argv[1];
	signal(SIGPIPE, SIG_IGN);
	setvbuf(stdin, NULL, _IONBF, 0);
	prctl(PR_SET_TIMERSLACK, 1UL, 0, 0, 0);
	for (int i = 0; i < MAX_STREAMS; i++)
		streams[i].from = -1;
	listener = listen_somewhere();

	for (;;)
	{
		struct pollfd fds[MAX_STREAMS + 2];
		Stream	   *owner[MAX_STREAMS + 2];
		int			nfds = 2;
		int64_t		at = now();
		int64_t		next = INT64_MAX;
		struct timespec timeout;

		fds[0] = (struct pollfd) {.fd = 0,.events = POLLIN};
		fds[1] = (struct pollfd) {.fd = listener,.events = POLLIN};
		for (int i = 0; i < MAX_STREAMS; i++)
		{
			Stream	   *stream = &streams[i];
			int			is_full;

			if (stream->from < 0)
				continue;
			is_full = send_due(stream, at);
			if (stream->from < 0)
				continue;
			if (is_full && nfds < MAX_STREAMS)
			{
				owner[nfds] = NULL;
				fds[nfds++] = (struct pollfd) {.fd = stream->to,.events = POLLOUT};
			}
			else if (stream->first && stream->first->due < next)
				next = stream->first->due;
			if (!stream->is_read_done && nfds < MAX_STREAMS)
			{
				owner[nfds] = stream;
				fds[nfds++] = (struct pollfd) {.fd = stream->from,.events = POLLIN};
			}
		}
		at = now();
		if (next != INT64_MAX)
		{
			int64_t		left = next > at ? next - at : 0;

			timeout.tv_sec = left / 1000000000;
			timeout.tv_nsec = left % 1000000000;
		}
		if (ppoll(fds, nfds, next == INT64_MAX ? NULL : &timeout, NULL) < 0)
			continue;
		if (fds[0].revents)
			read_command();
		for (int i = 2; i < nfds; i++)
		{
			if (fds[i].revents && owner[i] && owner[i]->from == fds[i].fd)
				read_chunk(owner[i]);
		}
		if (fds[1].revents)
			accept_client(listener);
	}
}
