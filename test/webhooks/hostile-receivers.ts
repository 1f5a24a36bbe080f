/** Receivers with every recorded kind of failure: real sockets, real TLS, a real name server. */
import type { AddressInfo, Socket } from "node:net";
import { createServer } from "node:net";
import { createServer as createTlsServer, type TlsOptions } from "node:tls";
import { type DeliveryFailure, type DeliveryFailureValues, networkList } from "@countersign/core";
import { onTestFinished } from "vitest";
import type { HttpOutOptions } from "../../packages/server/src/edge/outgoing/http-out.ts";
import { createNameLookup } from "../../packages/server/src/edge/outgoing/name-lookup.ts";
import { createSealer } from "../../packages/server/src/edge/start/sealer.ts";
import { strangeCertificates, testCertificates } from "../../packages/server/src/testing/network/certificates.ts";
import { type NameAnswer, testNameServer } from "../../packages/server/src/testing/network/name-server.ts";
import { type AnswerWith, testReceiver } from "../../packages/server/src/testing/network/receiver.ts";

export interface Arranged {
  readonly url: string;
  readonly client?: Partial<HttpOutOptions>;
  readonly sealer?: ReturnType<typeof createSealer>;
  readonly number?: number;
  /** Resolves when the attempt's time may end; absent: it never ends. */
  readonly untilLate?: () => Promise<void>;
  /** Counts requests and connections that must not happen. */
  readonly nothingReached?: () => number;
}

export interface HostileCase {
  readonly title: string;
  readonly failure: DeliveryFailure;
  readonly values?: DeliveryFailureValues;
  arrange(): Promise<Arranged>;
}

const loopback = { allow_http: false, allow_networks: networkList(["127.0.0.0/8"]) };
const name = "receiver.test";

function until(condition: () => boolean): () => Promise<void> {
  return async () => {
    while (!condition()) await new Promise(setImmediate);
  };
}

async function listening(server: ReturnType<typeof createServer>): Promise<string> {
  const open = new Set<Socket>();
  server.on("connection", (socket: Socket) => {
    open.add(socket.on("error", () => undefined));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(async () => {
    for (const socket of open) socket.destroy();
    await new Promise((resolve) => server.close(resolve));
  });
  return `https://${name}:${(server.address() as AddressInfo).port}/`;
}

const plain = (onConnection: (socket: Socket) => void) => listening(createServer(onConnection));

/** With TLS, below HTTP: calls `behave` with the first bytes of the request. */
const secure = (behave: (socket: Socket) => void, options: TlsOptions = {}) =>
  listening(
    createTlsServer({ ...testCertificates().good, ...options }, (socket) => {
      socket.on("error", () => undefined).once("data", () => behave(socket));
    }),
  );

/** Repeats its text. The attempt's time ends after ten repeats. */
function dripping(first: string, drop: string) {
  return async (): Promise<Arranged> => {
    let drops = 0;
    const url = await secure((socket) => {
      socket.write(first);
      const timer = setInterval(() => {
        socket.write(drop);
        drops += 1;
      }, 5);
      socket.on("close", () => clearInterval(timer));
    });
    return { url, untilLate: until(() => drops >= 10) };
  };
}

/** Never answers. The attempt's time ends when the receiver is reached. */
function silent(after: "connecting" | "asking") {
  return async (): Promise<Arranged> => {
    let reached = false;
    const reach = () => {
      reached = true;
    };
    const url = await (after === "connecting" ? plain(reach) : secure(reach));
    return { url, untilLate: until(() => reached) };
  };
}

const saying = (text: string) => async (): Promise<Arranged> => ({ url: await secure((socket) => socket.end(text)) });
const holding = (text: string) => async (): Promise<Arranged> => ({
  url: await secure((socket) => socket.write(text)),
});
const answering = (answer: AnswerWith) => async (): Promise<Arranged> => ({ url: (await testReceiver(answer)).url });

function named(answer: NameAnswer, late = false) {
  return async (): Promise<Arranged> => {
    const receiver = await testReceiver();
    const { server, asked } = await testNameServer(() => answer);
    const client = { resolve: createNameLookup({ name_servers: [server] }) };
    const untilLate = late ? { untilLate: until(() => asked.length > 0) } : {};
    return { url: receiver.url, client, ...untilLate, nothingReached: receiver.connections };
  };
}

function certified(certificate: () => { cert: string; key: string }, ca?: () => string) {
  return async (): Promise<Arranged> => {
    const receiver = await testReceiver(undefined, certificate());
    const client = ca === undefined ? {} : { client: { ca: ca() } };
    return { url: receiver.url, ...client, nothingReached: () => receiver.received.length };
  };
}

function refusedBefore(
  url: (port: number) => string,
  addresses: readonly string[],
  client: Partial<HttpOutOptions> = {},
) {
  return async (): Promise<Arranged> => {
    const receiver = await testReceiver();
    const nothingReached = receiver.connections;
    return { url: url(receiver.port), client: { resolve: async () => addresses, ...client }, nothingReached };
  };
}

function redirecting(status: number) {
  return async (): Promise<Arranged> => {
    const elsewhere = await testReceiver();
    const receiver = await testReceiver((response) => response.writeHead(status, { location: elsewhere.url }).end());
    return { url: receiver.url, nothingReached: elsewhere.connections };
  };
}

const head = "HTTP/1.1 200 OK\r\n";
const hints = "HTTP/1.1 103 Early Hints\r\n";
const ok = `${head}Content-Length: 0\r\n\r\n`;

export const hostileCases: readonly HostileCase[] = [
  { title: "never answers", failure: "out_of_time", values: { seconds: 10 }, arrange: silent("asking") },
  {
    title: "accepts the connection and never finishes the TLS handshake",
    failure: "out_of_time",
    values: { seconds: 10 },
    arrange: silent("connecting"),
  },
  {
    title: "answers its status line byte by byte",
    failure: "out_of_time",
    values: { seconds: 10 },
    arrange: dripping("HTTP/1.1 200 ", "O"),
  },
  {
    title: "sends 102 without end",
    failure: "out_of_time",
    values: { seconds: 10 },
    arrange: dripping("", "HTTP/1.1 102 Processing\r\n\r\n"),
  },
  {
    title: "sends 103 without end",
    failure: "out_of_time",
    values: { seconds: 10 },
    arrange: dripping("", "HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n"),
  },
  { title: "closes before its answer", failure: "connection_closed", arrange: saying("") },
  { title: "closes in the middle of its status line", failure: "connection_closed", arrange: saying("HTTP/1.1 200 O") },
  { title: "sends 100 and closes", failure: "connection_closed", arrange: saying("HTTP/1.1 100 Continue\r\n\r\n") },
  { title: "closes in the middle of 100", failure: "connection_closed", arrange: saying("HTTP/1.1 10") },
  { title: "sends 102 and closes", failure: "connection_closed", arrange: saying("HTTP/1.1 102 Processing\r\n\r\n") },
  {
    title: "resets the connection before TLS",
    failure: "connection_closed",
    arrange: async () => ({ url: await plain((socket) => socket.resetAndDestroy()) }),
  },
  {
    title: "does not listen",
    failure: "connection_refused",
    async arrange() {
      const receiver = await testReceiver();
      await receiver.close();
      return { url: receiver.url };
    },
  },
  {
    title: "is an unreachable address",
    failure: "no_route",
    arrange: refusedBefore(() => "https://224.0.0.1/", [], {
      rules: { allow_http: false, allow_networks: networkList(["224.0.0.0/4"]) },
    }),
  },
  {
    title: "has an unreachable address",
    failure: "no_route",
    // TCP cannot connect to a multicast group.
    arrange: refusedBefore(() => `https://${name}/`, ["224.0.0.1"], {
      rules: { allow_http: false, allow_networks: networkList(["224.0.0.0/4"]) },
    }),
  },
  {
    title: "fails with an unknown error",
    failure: "connection_failed",
    values: { code: "EUNHEARDOF" },
    async arrange() {
      const resolve = async () => Promise.reject(Object.assign(new Error("strange"), { code: "EUNHEARDOF" }));
      return { url: `https://${name}/`, client: { resolve } };
    },
  },
  {
    title: "speaks HTTP without TLS",
    failure: "no_tls",
    arrange: async () => ({ url: await plain((socket) => socket.once("data", () => socket.end(ok))) }),
  },
  {
    title: "greets as a mail server",
    failure: "no_tls",
    arrange: async () => ({ url: await plain((socket) => void socket.write("220 mail.example ESMTP ready\r\n")) }),
  },
  {
    title: "speaks only TLS 1.0",
    failure: "tls_refused",
    values: { code: "ERR_SSL_TLSV1_ALERT_PROTOCOL_VERSION" },
    arrange: async () => ({
      url: await secure(() => undefined, { minVersion: "TLSv1", maxVersion: "TLSv1", ciphers: "DEFAULT@SECLEVEL=0" }),
    }),
  },
  {
    title: "has an expired certificate",
    failure: "certificate_expired",
    arrange: certified(() => testCertificates().expired),
  },
  {
    title: "has a certificate that is valid from 2090",
    failure: "certificate_not_yet_valid",
    arrange: certified(
      () => strangeCertificates().not_yet_valid,
      () => strangeCertificates().ca,
    ),
  },
  {
    title: "has another host's certificate",
    failure: "certificate_of_another_name",
    arrange: certified(() => testCertificates().wrong_name),
  },
  {
    title: "has a self-signed certificate",
    failure: "certificate_self_signed",
    arrange: certified(() => testCertificates().self_signed),
  },
  {
    title: "has a certificate of an authority that only it knows",
    failure: "certificate_of_unknown_authority",
    arrange: certified(() => strangeCertificates().with_authority),
  },
  {
    title: "does not send its authority's certificate",
    failure: "certificate_chain_incomplete",
    arrange: certified(() => strangeCertificates().good),
  },
  {
    title: "sends one giant header before its status",
    failure: "head_too_large",
    arrange: holding(`${hints}X: ${"x".repeat(100_000)}\r\n\r\n`),
  },
  {
    title: "sends thousands of small headers before its status",
    failure: "head_too_large",
    arrange: holding(`${hints}${Array.from({ length: 20_000 }, (_, n) => `X-${n}: y\r\n`).join("")}\r\n`),
  },
  {
    title: "answers in another protocol",
    failure: "not_http",
    values: { code: "Expected HTTP/, RTSP/ or ICE/" },
    arrange: saying("SSH-2.0-OpenSSH_9.6\r\n"),
  },
  {
    title: "sends a malformed header before its status",
    failure: "not_http",
    values: { code: "Invalid header token" },
    arrange: saying(`${hints}no header\r\n\r\n`),
  },
  {
    title: "answers with a status below 100",
    failure: "not_http",
    values: { code: "ERR_ASSERTION" },
    arrange: saying("HTTP/1.1 050 No\r\nContent-Length: 0\r\n\r\n"),
  },
  {
    title: "switches protocols",
    failure: "protocol_switched",
    arrange: holding("HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n"),
  },
  ...[300, 301, 302, 303, 307, 308].map(
    (status): HostileCase => ({
      title: `redirects with ${status}`,
      failure: "redirected",
      values: { status },
      arrange: redirecting(status),
    }),
  ),
  ...[304, 400, 404, 410, 429, 500, 503].map(
    (status): HostileCase => ({
      title: `answers ${status}`,
      failure: "not_taken",
      values: { status },
      arrange: answering((response) => response.writeHead(status).end()),
    }),
  ),
  { title: "has a name that does not exist", failure: "name_unknown", arrange: named("unknown") },
  { title: "has a name without addresses", failure: "name_without_address", arrange: named([]) },
  { title: "has a name server that never answers", failure: "name_server_silent", arrange: named("silent", true) },
  { title: "has a name server that fails", failure: "name_server_failed", arrange: named("failed") },
  { title: "has a name server that answers nonsense", failure: "name_server_failed", arrange: named("garbled") },
  { title: "has a name server that refuses", failure: "name_server_refused", arrange: named("refused") },
  {
    title: "has a name that resolves to a private address",
    failure: "refused",
    values: { sentence: `${name} leads to 127.0.0.1, which is a loopback address.` },
    arrange: refusedBefore((port) => `https://${name}:${port}/`, ["127.0.0.1"], {
      rules: { allow_http: false, allow_networks: [] },
    }),
  },
  {
    title: "has one good address and a bad one",
    failure: "refused",
    values: { sentence: `${name} leads to 10.0.0.1, which is a private address.` },
    arrange: refusedBefore((port) => `https://${name}:${port}/`, ["127.0.0.1", "10.0.0.1"]),
  },
  {
    title: "has a private address instead of a name",
    failure: "refused",
    values: { sentence: "10.0.0.1 is a private address." },
    arrange: refusedBefore((port) => `https://10.0.0.1:${port}/`, []),
  },
  {
    title: "has a secret sealed with another master key",
    failure: "secret_not_readable",
    async arrange() {
      const receiver = await testReceiver();
      return { url: receiver.url, sealer: createSealer(Buffer.alloc(32, 99)), nothingReached: receiver.connections };
    },
  },
  {
    title: "was in its third attempt when the service stopped",
    failure: "interrupted",
    async arrange() {
      const receiver = await testReceiver();
      return { url: receiver.url, number: 4, nothingReached: receiver.connections };
    },
  },
];

export const hostileClient: HttpOutOptions = { rules: loopback, ca: testCertificates().ca };
