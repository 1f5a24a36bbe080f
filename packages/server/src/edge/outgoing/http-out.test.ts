import { Resolver } from "node:dns/promises";
import { readFileSync } from "node:fs";
import { type AddressInfo, createServer, type Server, type Socket } from "node:net";
import { createServer as createTlsServer } from "node:tls";
import { networkList } from "@countersign/core";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { testCertificates } from "../../testing/network/certificates.ts";
import { resolveToLoopback, testReceiver } from "../../testing/network/receiver.ts";
import { createHttpOut, type HttpOutOptions } from "./http-out.ts";

const rules = { allow_http: false, allow_networks: networkList(["127.0.0.0/8"]) };

function client(options: Partial<HttpOutOptions> = {}) {
  const out = createHttpOut({ rules, resolve: resolveToLoopback, ca: testCertificates().ca, ...options });
  onTestFinished(() => out.close());
  return out;
}

async function rawServer(
  onConnection: (socket: Socket) => void,
  create: (onSocket: (socket: Socket) => void) => Server = createServer,
): Promise<{ port: number; count: () => number }> {
  let connections = 0;
  const open = new Set<Socket>();
  const server = create((socket) => {
    connections += 1;
    open.add(socket);
    socket.on("error", () => undefined);
    onConnection(socket);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(async () => {
    for (const socket of open) socket.destroy();
    await new Promise((resolve) => server.close(resolve));
  });
  return { port: (server.address() as AddressInfo).port, count: () => connections };
}

const head = "HTTP/1.1 200 OK\r\n";
const status = (code: number, headers: Record<string, string> = {}) =>
  testReceiver((response) => response.writeHead(code, headers).end());

describe("answers", () => {
  test("the bytes and headers arrive unchanged, and connections are reused", async () => {
    const receiver = await testReceiver((response) => response.end("thanks"));
    const out = client();
    for (let n = 0; n < 5; n++) {
      expect(await out.post(receiver.url, { "X-Test": String(n) }, "grün ☃")).toMatchObject({
        response_status: 200,
        error: null,
      });
      // The rest of the answer is read in the background, then its connection is free.
      await new Promise(setImmediate);
    }
    expect(receiver.received.map((each) => [each.headers["x-test"], each.body])).toEqual(
      [0, 1, 2, 3, 4].map((n) => [String(n), "grün ☃"]),
    );
    expect(receiver.received[0]?.headers).toMatchObject({
      host: `receiver.test:${receiver.port}`,
      "content-length": "9",
    });
    expect(receiver.connections()).toBeLessThan(5);
  });

  test.each([200, 204, 206, 299])("%i counts as delivered", async (code) => {
    const receiver = await status(code);
    expect(await client().post(receiver.url, {}, "x")).toMatchObject({ response_status: code, error: null });
  });

  test.each([300, 301, 302, 303, 304, 307, 308, 400, 410, 500])("%i is a failure with its status", async (code) => {
    const elsewhere = await testReceiver();
    const receiver = await status(code, { location: elsewhere.url });
    const result = await client().post(receiver.url, {}, "x");
    expect(result.response_status).toBe(code);
    expect(result.error).toContain(String(code));
    expect(elsewhere.connections()).toBe(0);
  });

  test("Refresh and Alt-Svc do not redirect", async () => {
    const elsewhere = await testReceiver();
    const headers = { refresh: `0;url=${elsewhere.url}`, "alt-svc": `h2="127.0.0.1:${elsewhere.port}"` };
    const receiver = await status(200, headers);
    const out = client();
    for (let n = 0; n < 3; n++) expect((await out.post(receiver.url, {}, "x")).error).toBeNull();
    expect(elsewhere.connections()).toBe(0);
    expect(receiver.received).toHaveLength(3);
  });

  test("a proxy in the environment is not used", async () => {
    const proxy = await rawServer((socket) => socket.end());
    const receiver = await testReceiver();
    process.env["HTTPS_PROXY"] = `http://127.0.0.1:${proxy.port}`;
    onTestFinished(() => void delete process.env["HTTPS_PROXY"]);
    expect((await client().post(receiver.url, {}, "x")).error).toBeNull();
    expect(proxy.count()).toBe(0);
  });

  test("a 2xx status line is a success at once, even if the body never ends", async () => {
    let open: boolean | undefined;
    const receiver = await testReceiver((response) => {
      open = true;
      response.on("close", () => (open = false));
      response.writeHead(200).write("and");
    });
    const result = await client().post(receiver.url, {}, "x");
    expect(result.error).toBeNull();
    await expect.poll(() => open).toBe(false);
  });
});

describe("the status line of an answer counts", () => {
  const cookies = "Set-Cookie: ".concat("x".repeat(1_000), "\r\n").repeat(60);
  const answers: Record<string, string> = {
    "both length headers": `${head}Transfer-Encoding: chunked\r\nContent-Length: 2\r\n\r\n2\r\nok\r\n0\r\n\r\n`,
    "the length twice": `${head}Content-Length: 2\r\nContent-Length: 2\r\n\r\nok`,
    "two different lengths": `${head}Content-Length: 1\r\nContent-Length: 2\r\n\r\nok`,
    "a length that is no number": `${head}Content-Length: two\r\n\r\nok`,
    "a folded header": `${head}X-A: a\r\n b\r\nContent-Length: 2\r\n\r\nok`,
    "a line that is no header": `${head}no header\r\n\r\n`,
    "a control character in a header": `${head}X-A: \u0000\r\n\r\n`,
    "line feeds only": "HTTP/1.1 200 OK\nContent-Length: 2\n\nok",
    "a head of 60 KiB": `${head}${cookies}\r\n`,
    "a malformed head after 103": `HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n${head}no header\r\n\r\n`,
    "a head that never ends": `${head}X-Slow: `,
    "nothing at all": head,
  };

  const post = async (behave: (socket: Socket) => void) => {
    const options = testCertificates().good;
    const { port } = await rawServer(
      (socket) => socket.once("data", () => behave(socket)),
      (onSocket) => createTlsServer(options, onSocket),
    );
    return client().post(`https://receiver.test:${port}/`, {}, "x");
  };

  test.each(Object.entries(answers))("with %s after it", async (_title, answer) => {
    const taken = { response_status: 200, error: null };
    expect(await post((socket) => socket.write(answer))).toMatchObject(taken);
    expect(await post((socket) => socket.end(answer))).toMatchObject(taken);
    const refused = answer.replace("200 OK", "503 No");
    expect(await post((socket) => socket.write(refused))).toMatchObject({
      response_status: 503,
      error: "The receiver answered 503 instead of a 2xx status.",
    });
  });

  test("once for each request of a connection", async () => {
    const statuses = [200, 500, 204];
    const receiver = await testReceiver((response) => response.writeHead(statuses.shift() ?? 400).end("ok"));
    const out = client();
    const seen: (number | null)[] = [];
    for (let n = 0; n < 3; n++) {
      seen.push((await out.post(receiver.url, {}, "x")).response_status);
      await new Promise(setImmediate);
    }
    expect(seen).toEqual([200, 500, 204]);
  });

  test("only for a delivery: an answer that is read completely must be well-formed", async () => {
    const { port } = await rawServer((socket) =>
      socket.once("data", () => socket.end(`${answers["both length headers"]}`)),
    );
    const out = client({ rules: { ...rules, allow_http: true } });
    const terms = { timeout_ms: 10_000, answer_bytes_max: 100 };
    expect(await out.ask(`http://receiver.test:${port}/`, {}, "x", terms)).toMatchObject({ failed: "unreachable" });
  });
});

describe("an unrequested interim answer", () => {
  const final = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n";
  const post = async (answer: (socket: Socket) => void) => {
    const { port } = await rawServer((socket) => socket.on("data", () => answer(socket)));
    return client({ rules: { ...rules, allow_http: true } }).post(`http://receiver.test:${port}/`, {}, "x");
  };

  test.each([
    ["100", "HTTP/1.1 100 Continue\r\n\r\n"],
    ["102 and 103", "HTTP/1.1 102 Processing\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n"],
  ])("%s is skipped, and the answer after it counts, in one piece and in two", async (_title, interim) => {
    const delivered = { response_status: 200, error: null };
    expect(await post((socket) => socket.write(interim + final))).toMatchObject(delivered);
    const later = (then: () => void) => setImmediate(() => setImmediate(then));
    const inTwo = (socket: Socket) => socket.write(interim, () => later(() => socket.write(final)));
    expect(await post(inTwo)).toMatchObject(delivered);
  });
});

describe("receivers that misbehave", () => {
  const timeout_ms = 500;
  const plainHttp = { ...rules, allow_http: true };

  const dripping = (text: string) => (socket: Socket) => {
    socket.write(text);
    const timer = setInterval(() => socket.write("X"), 50);
    socket.on("close", () => clearInterval(timer));
  };
  const flooding = (socket: Socket) => {
    const timer = setInterval(() => socket.write("HTTP/1.1 102 Processing\r\n\r\n"), 20);
    socket.on("close", () => clearInterval(timer));
  };

  test.each<[string, (socket: Socket) => void]>([
    ["accepts and says nothing", () => undefined],
    ["drips its status line byte by byte", dripping("HTTP/1.1 200 ")],
    ["floods with 102", flooding],
  ])("one that %s ends in time, and sees one connection an attempt", async (_title, behave) => {
    const { port, count } = await rawServer(behave);
    const out = client({ timeout_ms, rules: plainHttp });
    // A connection that the first attempt left would open before the second attempt connects.
    for (let n = 1; n <= 2; n++) {
      const result = await out.post(`http://receiver.test:${port}/`, {}, "x");
      expect(result).toMatchObject({ response_status: null, error: "The receiver did not answer within 0.5 seconds." });
      await new Promise(setImmediate);
    }
    expect(count()).toBe(2);
  });

  test("a receiver over TLS that never answers sees one connection an attempt", async () => {
    const receiver = await testReceiver(() => undefined);
    const out = client({ timeout_ms });
    for (let n = 1; n <= 2; n++) {
      expect((await out.post(receiver.url, {}, "x")).error).toBe("The receiver did not answer within 0.5 seconds.");
      await new Promise(setImmediate);
    }
    expect(receiver.connections()).toBe(2);
  });

  test("a receiver that gets an `ask` and never answers sees one connection a request", async () => {
    const { port, count } = await rawServer(() => undefined);
    const out = client({ rules: plainHttp });
    for (let n = 1; n <= 2; n++) {
      const answer = await out.ask(`http://receiver.test:${port}/`, {}, "x", { timeout_ms, answer_bytes_max: 100 });
      expect(answer).toMatchObject({ failed: "timeout" });
      await new Promise(setImmediate);
    }
    expect(count()).toBe(2);
  });

  test("an attempt ends in time if the TLS handshake never finishes", async () => {
    const { port } = await rawServer(() => undefined);
    const result = await client({ timeout_ms }).post(`https://receiver.test:${port}/`, {}, "x");
    expect(result.error).toBe("The receiver did not answer within 0.5 seconds.");
  });

  test("a connection whose TLS handshake never finishes is closed with the client", async () => {
    const seen: string[] = [];
    const { port } = await rawServer((socket) => {
      seen.push("accepted");
      socket.resume().on("close", () => seen.push("dropped"));
    });
    const out = client({ timeout_ms: 600_000 });
    const attempt = out.post(`https://receiver.test:${port}/`, {}, "x");
    await expect.poll(() => seen).toEqual(["accepted"]);
    await out.close();
    await expect.poll(() => seen).toEqual(["accepted", "dropped"]);
    expect((await attempt).response_status).toBeNull();
  });

  test("a name server that never answers ends in time, and nothing is sent after that", async () => {
    const receiver = await testReceiver();
    let answer: ((addresses: string[]) => void) | undefined;
    const resolve = () => new Promise<string[]>((resolve) => (answer = resolve));
    const result = await client({ timeout_ms, resolve }).post(receiver.url, {}, "x");
    expect(result.error).toBe("The name server did not answer.");
    answer?.(["127.0.0.1"]);
    await new Promise(setImmediate);
    expect(receiver.connections()).toBe(0);
  });

  test.each<[string, (socket: Socket) => void, string]>([
    ["closes at once", (socket) => socket.destroy(), "The receiver closed the connection before it answered."],
    [
      "answers 101",
      (socket) => socket.write("HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n"),
      "101",
    ],
    [
      "speaks something else",
      (socket) => socket.end("220 mail.example ESMTP\r\n"),
      "The receiver's answer is not HTTP/1.1 (Expected HTTP/, RTSP/ or ICE/).",
    ],
    [
      "sends a giant head before its status",
      (socket) => socket.write(`HTTP/1.1 103 Early Hints\r\nX: ${"x".repeat(70_000)}\r\n\r\n`),
      "The head of the receiver's answer is too large.",
    ],
  ])("one that %s is a failure with a reason", async (_title, behave, reason) => {
    const { port } = await rawServer((socket) => socket.once("data", () => behave(socket)));
    const result = await client({ rules: plainHttp }).post(`http://receiver.test:${port}/`, {}, "x");
    expect(result.response_status).toBeNull();
    expect(result.error).toContain(reason);
  });

  test("a receiver that does not exist refuses the connection", async () => {
    const receiver = await testReceiver();
    await receiver.close();
    expect((await client().post(receiver.url, {}, "x")).error).toBe("The receiver refused the connection.");
  });

  test("a receiver without TLS has its own reason", async () => {
    const { port } = await rawServer((socket) =>
      socket.once("data", () => socket.end("HTTP/1.1 400 Bad Request\r\n\r\n")),
    );
    const result = await client().post(`https://receiver.test:${port}/`, {}, "x");
    expect(result.error).toBe("The receiver does not speak TLS on this port.");
  });

  test.each([
    ["expired", "The receiver's certificate has expired."],
    ["wrong_name", "The receiver's certificate is for another name."],
    ["self_signed", "The receiver's certificate is self-signed."],
  ] as const)("a receiver whose certificate is %s gets no event", async (which, reason) => {
    const receiver = await testReceiver(undefined, testCertificates()[which]);
    expect(await client().post(receiver.url, {}, "secret")).toMatchObject({ response_status: null, error: reason });
    expect(receiver.received).toEqual([]);
  });
});

describe("the guard at connect time", () => {
  const strict = { allow_http: false, allow_networks: [] };
  const cases: { url: string; expect: string; reason: string; stage: string; dns?: string[][] }[] = JSON.parse(
    readFileSync(new URL("../../../../../test/data/webhook-dns-and-redirects.json", import.meta.url), "utf8"),
  );

  test.each(
    cases.filter((each) => each.stage === "resolve" && each.expect === "refuse" && !each.url.includes("rebind")),
  )("$url reaches no server on this machine: $reason", async ({ url, dns = [] }) => {
    const receiver = await testReceiver();
    const target = new URL(url);
    target.port = String(receiver.port);
    const out = client({ rules: strict, resolve: async () => dns[0] ?? [] });
    expect((await out.post(target.href, {}, "x")).error).toContain(`${target.hostname} leads to `);
    expect("refused" in (await out.check(target.href))).toBe(true);
    expect(receiver.connections()).toBe(0);
  });

  test("each attempt judges the current addresses of the name, even with a connection still open", async () => {
    const receiver = await testReceiver();
    const answers = [["127.0.0.1"], ["127.0.0.1", "10.0.0.1"]];
    let lookups = 0;
    const out = client({ resolve: async () => answers[lookups++] ?? [] });
    expect((await out.post(receiver.url, {}, "x")).error).toBeNull();
    await expect
      .poll(async () => (await out.post(receiver.url, {}, "x")).error, { interval: 300 })
      .toContain("10.0.0.1");
    const before = receiver.received.length;
    expect((await out.post(receiver.url, {}, "x")).error).toContain("private address");
    expect(receiver.received).toHaveLength(before);
  });

  test("the connection goes to the judged address even if the name has another address by then", async () => {
    const receiver = await testReceiver();
    let lookups = 0;
    const out = client({ resolve: async () => (lookups++ === 0 ? ["127.0.0.1"] : ["127.0.0.2"]) });
    expect((await out.post(receiver.url, {}, "x")).error).toBeNull();
    expect(lookups).toBe(1);
  });

  test("an address literal of a private network is refused although it needs no lookup", async () => {
    const receiver = await testReceiver();
    const out = client({ rules: strict });
    for (const host of ["127.0.0.1", "[::ffff:7f00:1]", "2130706433", "0x7f.1"]) {
      expect((await out.post(`https://${host}:${receiver.port}/`, {}, "x")).error).toContain("loopback");
    }
    expect(receiver.connections()).toBe(0);
  });

  test("by default names are looked up by c-ares, not in the four threads of the process", async () => {
    const unknown = Object.assign(new Error("queryAaaa ENODATA"), { code: "ENODATA" });
    const asked = vi.spyOn(Resolver.prototype, "resolve4").mockResolvedValue(["10.0.0.1"]);
    vi.spyOn(Resolver.prototype, "resolve6").mockRejectedValue(unknown);
    onTestFinished(() => void vi.restoreAllMocks());
    const out = createHttpOut({ rules: strict });
    onTestFinished(() => out.close());
    const refused = "hooks.example.com leads to 10.0.0.1, which is a private address.";
    expect(await out.check("https://hooks.example.com/")).toEqual({ refused });
    expect((await out.post("https://hooks.example.com/", {}, "x")).error).toContain(refused);
    expect(asked).toHaveBeenCalledWith("hooks.example.com");
  });

  test("an unresolvable name is accepted at registration and is a failure with a reason at delivery", async () => {
    const resolve = async () => Promise.reject(Object.assign(new Error("queryA ENOTFOUND"), { code: "ENOTFOUND" }));
    const out = client({ rules: strict, resolve });
    expect(await out.check("https://NEW.example.com/hook")).toMatchObject({ href: "https://new.example.com/hook" });
    expect((await out.post("https://new.example.com/hook", {}, "x")).error).toBe(
      "The receiver's name does not resolve.",
    );
  });
});
