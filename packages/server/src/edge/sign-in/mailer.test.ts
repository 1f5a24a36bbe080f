import { once } from "node:events";
import { mkdtemp, readdir, readFile, rm, stat } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { SMTPServer } from "smtp-server";
import { expect, onTestFinished, test } from "vitest";
import { escalationsMail, signupMail } from "../../operations/people/mail-texts.ts";
import type { Mail } from "../../ports.ts";
import { silentLog } from "../../testing/nodes/silent-log.ts";
import { createMailer } from "./mailer.ts";

const mail: Mail = {
  to: "someone@example.com",
  subject: "An action waits for your review",
  text: "plain words",
  html: "<p>words</p>",
  unsubscribe_url: "https://countersign.example/v1/unsubscribe?token=v1.abc",
};

interface Received {
  readonly from: string;
  readonly to: string[];
  readonly text: string;
}

/** Answers the first `refuse` mails with a temporary failure. */
async function smtpServer(refuse = 0): Promise<{ url: string; received: Received[] }> {
  const received: Received[] = [];
  let left = refuse;
  const server = new SMTPServer({
    authOptional: true,
    disabledCommands: ["STARTTLS"],
    logger: false,
    onData(stream, session, done) {
      const chunks: Buffer[] = [];
      stream.on("data", (chunk: Buffer) => chunks.push(chunk));
      stream.on("end", () => {
        if (left > 0) {
          left -= 1;
          return done(Object.assign(new Error("try again later"), { responseCode: 451 }));
        }
        const { mailFrom, rcptTo } = session.envelope;
        received.push({
          from: mailFrom === false ? "" : mailFrom.address,
          to: rcptTo.map(({ address }) => address),
          text: Buffer.concat(chunks).toString("utf8"),
        });
        done();
      });
    },
  });
  server.on("error", () => undefined);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => new Promise<void>((resolve) => server.close(() => resolve())));
  const { port } = server.server.address() as { port: number };
  return { url: `smtp://127.0.0.1:${port}`, received };
}

function mailerOf(smtp_url: string | null, data_dir = "/nowhere", attempt_ms_max?: number) {
  const config = { smtp_url, mail_from: "Acme <noreply@acme.example>", data_dir };
  const mailer = createMailer(config, silentLog, attempt_ms_max);
  onTestFinished(() => mailer.close());
  return mailer;
}

test("a mail is sent with sender, plain text, HTML and one-click unsubscribe", async () => {
  const { url, received } = await smtpServer();
  await mailerOf(url).send(mail);
  expect(received).toMatchObject([{ from: "noreply@acme.example", to: ["someone@example.com"] }]);
  const { text } = received[0] as Received;
  expect(text).toMatch(/^List-Unsubscribe: <https:\/\/countersign\.example\/v1\/unsubscribe\?token=v1\.abc>\r$/m);
  expect(text).toMatch(/^List-Unsubscribe-Post: List-Unsubscribe=One-Click\r$/m);
  expect(text).toMatch(/multipart\/alternative/);
  expect(text).toContain("plain words");
  expect(text).toContain("<p>words</p>");
});

test("a server's refusal is reported to the caller, who retries", async () => {
  const { url, received } = await smtpServer(1);
  const mailer = mailerOf(url);
  await expect(mailer.send(mail)).rejects.toThrow(/451/);
  await mailer.send(mail);
  expect(received).toHaveLength(1);
});

test("a server that answers too slowly is dropped, even if it keeps sending", async () => {
  const left: Promise<unknown>[] = [];
  const server = createServer((socket) => {
    const drip = setInterval(() => socket.write("220-one moment\r\n"), 10);
    socket.on("error", () => undefined);
    left.push(once(socket, "close").then(() => clearInterval(drip)));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => void server.close());
  const { port } = server.address() as { port: number };
  const mailer = mailerOf(`smtp://127.0.0.1:${port}`, "/nowhere", 500);
  await expect(mailer.send(mail)).rejects.toThrow("did not accept the mail within 0.5 s");
  await Promise.all(left);
  const stop = new AbortController();
  const patient = mailerOf(`smtp://127.0.0.1:${port}`).send(mail, stop.signal);
  await expect.poll(() => left.length).toBe(2);
  stop.abort();
  await expect(patient).rejects.toThrow("aborted");
  await Promise.all(left);
});

test("an unreachable server is reported, too", async () => {
  await expect(mailerOf("smtp://127.0.0.1:1").send(mail)).rejects.toThrow(/ECONNREFUSED/);
});

test("an address is never read as several addresses or as a header", async () => {
  const { url, received } = await smtpServer();
  const hostile = { ...mail, to: "a@example.com, b@example.com", subject: "x\r\nBcc: c@example.com" };
  await mailerOf(url)
    .send(hostile)
    .catch(() => undefined);
  for (const { to, text } of received) {
    expect(to).toHaveLength(1);
    expect(text).not.toMatch(/^Bcc:/m);
  }
});

test("without SMTP_URL a mail is a file that only its owner can read", async () => {
  const dir = await mkdtemp(join(tmpdir(), "countersign-mail-"));
  onTestFinished(() => rm(dir, { recursive: true, force: true, maxRetries: 5 }));
  const mailer = mailerOf(null, dir);
  await Promise.all([mailer.send(mail), mailer.send({ ...mail, subject: "Another" })]);
  const names = await readdir(join(dir, "outbox"));
  expect(names.map((name) => /^[\w-]+\.eml$/.test(name))).toEqual([true, true]);
  const texts = await Promise.all(names.map((name) => readFile(join(dir, "outbox", name), "utf8")));
  expect(texts.join("")).toContain("Subject: Another");
  expect((await stat(join(dir, "outbox", names[0] as string))).mode & 0o077).toBe(0);
});

test("the link of a mail in a file is not broken, so that it can be copied", async () => {
  const dir = await mkdtemp(join(tmpdir(), "countersign-mail-"));
  onTestFinished(() => rm(dir, { recursive: true, force: true, maxRetries: 5 }));
  const words = signupMail("http://127.0.0.1:8080", { to: "", org_name: "Bäcker", token: "a".repeat(43) });
  await mailerOf(null, dir).send({ ...mail, ...words });
  const [name] = await readdir(join(dir, "outbox"));
  const lines = (await readFile(join(dir, "outbox", name as string), "utf8")).split("\r\n");
  expect(lines).toContain(`Confirm the address: http://127.0.0.1:8080/verify-email?token=${"a".repeat(43)}`);
  expect(lines).toContain("Content-Transfer-Encoding: 8bit");
  expect(lines.filter((line) => /[\r\n]/.test(line))).toEqual([]);
  expect(lines.join()).toContain("“Bäcker”");
});

test("text by a stranger is shown without markup, links, or a change of direction", () => {
  const evil = '<img src=x onerror=alert(1)>\u202Eev\uFE0Fil\u2800\u0000\n\r"><script>';
  const words = signupMail("https://c.example", { to: "", org_name: evil, token: "t&<" });
  expect(words.html).not.toMatch(/<img|<script/);
  expect(words.html).toContain("img src x onerror alert(1)");
  const expires_at = "2026-01-31T10:00:00.000000Z";
  const waiting = [{ escalation_id: "esc_1", agent_id: evil, type: "payment.transfer", expires_at }];
  const content = { to: "", org_id: "org_1", user_id: "usr_1", waiting, more: 2 };
  const told = escalationsMail("https://c.example", content, "t&<");
  expect(told.subject).toBe("3 actions wait for your review");
  for (const text of [words.text, words.html, told.text, told.html])
    expect(text).not.toMatch(/\u202E|\uFE0F|\u2800|\0|\r/);
  expect(told.html).not.toMatch(/<img|<script/);
  expect(told.text).toContain("https://c.example/escalations/esc_1");
  expect(told.text).toContain("Unsubscribe: https://c.example/unsubscribe?token=t%26%3C");
});
