import { createSocket } from "node:dgram";
import { onTestFinished } from "vitest";

export type NameAnswer = readonly string[] | "unknown" | "failed" | "refused" | "garbled" | "silent";

const codes: Readonly<Record<string, number>> = { garbled: 1, failed: 2, unknown: 3, refused: 5 };
const type_a = 1;
const type_txt = 16;
/** Of a string in a record. */
const string_bytes_max = 255;

/** `asked`: names in the order of their IPv4 queries. */
export async function testNameServer(
  answerOf: (name: string) => NameAnswer,
): Promise<{ readonly server: string; readonly asked: string[] }> {
  const asked: string[] = [];
  const socket = createSocket("udp4");
  socket.on("message", (question, { port, address }) => {
    const labels: string[] = [];
    let at = 12;
    for (let length = question[at] ?? 0; length > 0; length = question[at] ?? 0) {
      labels.push(question.toString("latin1", at + 1, at + 1 + length));
      at += 1 + length;
    }
    const section = question.subarray(12, at + 5);
    const type = question.readUInt16BE(at + 1);
    const wants_a = type === type_a;
    const name = labels.join(".").toLowerCase();
    if (wants_a) asked.push(name);
    const answer = answerOf(name);
    if (answer === "silent") return;
    const values = typeof answer === "string" || (!wants_a && type !== type_txt) ? [] : answer;
    const head = Buffer.alloc(12);
    question.copy(head, 0, 0, 2);
    head.writeUInt16BE(0x8180 | (typeof answer === "string" ? (codes[answer] ?? 0) : 0), 2);
    head.writeUInt16BE(1, 4);
    head.writeUInt16BE(values.length, 6);
    // A pointer to the question's name, the type, class IN, TTL 0, the bytes.
    const records = values.map((each) => {
      const bytes = wants_a ? each.split(".").map(Number) : stringsOf(Buffer.from(each));
      return Buffer.from([0xc0, 12, 0, type, 0, 1, 0, 0, 0, 0, bytes.length >> 8, bytes.length & 0xff, ...bytes]);
    });
    socket.send(Buffer.concat([head, section, ...records]), port, address);
  });
  await new Promise<void>((resolve) => socket.bind(0, "127.0.0.1", resolve));
  onTestFinished(() => new Promise<void>((resolve) => void socket.close(() => resolve())));
  return { server: `127.0.0.1:${socket.address().port}`, asked };
}

function stringsOf(text: Buffer): number[] {
  const string = text.subarray(0, string_bytes_max);
  return text.length === 0 ? [] : [string.length, ...string, ...stringsOf(text.subarray(string_bytes_max))];
}
