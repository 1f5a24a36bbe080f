/** A browser with its push service: checks VAPID (RFC 8292) and decrypts messages (RFC 8291) without the service's code. */
import { createDecipheriv, createECDH, createPublicKey, hkdfSync, randomBytes, verify } from "node:crypto";
import { type Received, testReceiver } from "./receiver.ts";

interface PushedNotice {
  readonly title: string;
  readonly body: string;
  readonly url: string;
}

export async function pushServer() {
  const browser = createECDH("prime256v1");
  browser.generateKeys();
  const auth = randomBytes(16);
  const notices: PushedNotice[] = [];
  const tokens: Readonly<Record<string, unknown>>[] = [];
  let status = 201;
  let origin = "";
  const receiver = await testReceiver((response, received) => {
    if (status === 201) {
      tokens.push(claimsOf(received, origin));
      notices.push(JSON.parse(decrypted(Buffer.from(received.bytes), browser, auth)));
    }
    response.writeHead(status).end();
  });
  origin = new URL(receiver.url).origin;
  const keys = { p256dh: browser.getPublicKey("base64url"), auth: auth.toString("base64url") };
  return {
    subscription: { name: "Firefox on Linux", endpoint: `${origin}/push/v2/abc`, keys },
    received: receiver.received,
    notices,
    tokens,
    answerWith: (wanted: number) => {
      status = wanted;
    },
  };
}

/** Throws if the token has another signature than that of the key `k`. */
function claimsOf({ headers }: Received, audience: string): Readonly<Record<string, unknown>> {
  const [, token = "", key = ""] = /^vapid t=([\w.-]+), k=([\w-]+)$/.exec(headers.authorization ?? "") ?? [];
  const [head = "", body = "", signature = ""] = token.split(".");
  const point = Buffer.from(key, "base64url");
  const [x, y] = [point.subarray(1, 33).toString("base64url"), point.subarray(33).toString("base64url")];
  const publicKey = createPublicKey({ key: { kty: "EC", crv: "P-256", x, y }, format: "jwk" });
  const signed = Buffer.from(`${head}.${body}`);
  const is_good = verify(
    "sha256",
    signed,
    { key: publicKey, dsaEncoding: "ieee-p1363" },
    Buffer.from(signature, "base64url"),
  );
  const claims = JSON.parse(Buffer.from(body, "base64url").toString("utf8"));
  if (!is_good || claims.aud !== audience) throw new Error("the token is not for this push service");
  return { ...claims, k: key };
}

function decrypted(message: Buffer, browser: ReturnType<typeof createECDH>, auth: Buffer): string {
  const salt = message.subarray(0, 16);
  const sender = message.subarray(21, 21 + (message[20] ?? 0));
  const sealed = message.subarray(21 + sender.length);
  const info = Buffer.concat([Buffer.from("WebPush: info\0"), browser.getPublicKey(), sender]);
  const input = Buffer.from(hkdfSync("sha256", browser.computeSecret(sender), auth, info, 32));
  const key = Buffer.from(hkdfSync("sha256", input, salt, "Content-Encoding: aes128gcm\0", 16));
  const nonce = Buffer.from(hkdfSync("sha256", input, salt, "Content-Encoding: nonce\0", 12));
  const decipher = createDecipheriv("aes-128-gcm", key, nonce).setAuthTag(sealed.subarray(-16));
  const padded = Buffer.concat([decipher.update(sealed.subarray(0, -16)), decipher.final()]);
  const end = padded.lastIndexOf(2);
  return padded.subarray(0, end).toString("utf8");
}
