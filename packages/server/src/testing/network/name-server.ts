/** A name server on this machine: UDP, answers for each name what the test says. */
import { createSocket } from "node:dgram";
import { onTestFinished } from "vitest";

/** Addresses (IPv4), an error of the protocol, or nothing at all. */
export type NameAnswer = readonly string[] | "unknown" | "failed" | "refused" | "garbled" | "silent";

const codes: Readonly<Record<string, number>> = { garbled: 1, failed: 2, unknown: 3, refused: 5 };
const type_a = 1;

/** Starts one that ends with the test; `asked` lists the names in the order of the questions about IPv4 addresses. */
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
    const wants_a = question.readUInt16BE(at + 1) === type_a;
    const name = labels.join(".").toLowerCase();
    if (wants_a) asked.push(name);
    const answer = answerOf(name);
    if (answer === "silent") return;
    const addresses = typeof answer === "string" || !wants_a ? [] : answer;
    const head = Buffer.alloc(12);
    question.copy(head, 0, 0, 2);
    head.writeUInt16BE(0x8180 | (typeof answer === "string" ? (codes[answer] ?? 0) : 0), 2);
    head.writeUInt16BE(1, 4);
    head.writeUInt16BE(addresses.length, 6);
    // A pointer to the name in the question, type A, class IN, no time to live, four bytes.
    const records = addresses.map((each) =>
      Buffer.from([0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 0, 0, 4, ...each.split(".").map(Number)]),
    );
    socket.send(Buffer.concat([head, section, ...records]), port, address);
  });
  await new Promise<void>((resolve) => socket.bind(0, "127.0.0.1", resolve));
  onTestFinished(() => new Promise<void>((resolve) => void socket.close(() => resolve())));
  return { server: `127.0.0.1:${socket.address().port}`, asked };
}
