/** Sends mails by SMTP_URL. Without this setting, writes them as files. */
import { randomBytes } from "node:crypto";
import { rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { createTransport } from "nodemailer";
import type { Log, Mail, Mailer } from "../../ports.ts";
import { makeDirectory } from "../../store/database/data-directory.ts";
import type { Config } from "../start/config.ts";

const default_from = "Countersign <countersign@localhost>";
const smtp_timeout_ms = 20_000;
/**
 * Nodemailer's limits restart with each answer. On a slow server the mail's lease would expire, and another node would
 * send the mail again.
 */
const attempt_ms_max_default = 60_000;

export function createMailer(
  config: Pick<Config, "smtp_url" | "mail_from" | "data_dir">,
  log: Log,
  attempt_ms_max = attempt_ms_max_default,
): Mailer & { close(): void } {
  const from = config.mail_from ?? default_from;
  if (config.smtp_url === null) return fileMailer(from, join(config.data_dir, "outbox"), log);
  const transport = createTransport({
    // Beside a URL, nodemailer reads the second argument as fields of mails.
    url: config.smtp_url,
    connectionTimeout: smtp_timeout_ms,
    greetingTimeout: smtp_timeout_ms,
    socketTimeout: smtp_timeout_ms,
    dnsTimeout: smtp_timeout_ms,
    disableFileAccess: true,
    disableUrlAccess: true,
  } as object);
  return {
    delivers: true,
    async send(mail, stop) {
      const late = AbortSignal.timeout(attempt_ms_max);
      const signal = stop === undefined ? late : AbortSignal.any([late, stop]);
      try {
        await transport.sendMail({ ...messageOf(mail, from), signal });
      } catch (error) {
        if (!late.aborted) throw error;
        throw new Error(`the mail server did not accept the mail within ${attempt_ms_max / 1_000} s`, { cause: error });
      }
    },
    close: () => transport.close(),
  };
}

/** Writes `outbox/<time>-<random>.eml` atomically. Logs the path, never the content. */
function fileMailer(from: string, dir: string, log: Log): Mailer & { close(): void } {
  const transport = createTransport({ streamTransport: true, buffer: true, newline: "windows" });
  return {
    delivers: false,
    async send(mail) {
      const { message } = await transport.sendMail({
        ...messageOf(mail, from),
        text: { raw: readablePart(mail.text) },
      });
      await makeDirectory(dir);
      const name = `${new Date().toISOString().replaceAll(/[:.]/g, "-")}-${randomBytes(4).toString("hex")}`;
      const unfinished = join(dir, `.${name}.tmp`);
      const file = join(dir, `${name}.eml`);
      try {
        await writeFile(unfinished, message as Buffer, { mode: 0o600 });
        await rename(unfinished, file);
      } catch (error) {
        // On a full disk each try would leave a partial file.
        await rm(unfinished, { force: true });
        throw error;
      }
      log.info({ file, subject: mail.subject }, "SMTP_URL is not set: mail written to a file");
    },
    close: () => transport.close(),
  };
}

/** Without transfer encoding, because users copy the link from the file. Quoted-printable would break it in two. */
function readablePart(text: string): string {
  const head = "Content-Type: text/plain; charset=utf-8\r\nContent-Transfer-Encoding: 8bit";
  return `${head}\r\n\r\n${text.replaceAll("\n", "\r\n")}`;
}

function messageOf({ to, subject, text, html, unsubscribe_url }: Mail, from: string) {
  return {
    from,
    // A text may be read as a list of addresses.
    to: { name: "", address: to },
    subject,
    text,
    html,
    headers: {
      "Auto-Submitted": "auto-generated",
      ...(unsubscribe_url === undefined
        ? {}
        : {
            "List-Unsubscribe": `<${unsubscribe_url}>`,
            "List-Unsubscribe-Post": "List-Unsubscribe=One-Click",
          }),
    },
  };
}
