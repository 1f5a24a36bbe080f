/**
 * The load generator, in its own process. Each connection sends its next request after the last answer (closed loop),
 * so a slow server gets fewer requests. Keeps every latency, so percentiles are exact.
 */
import { LoadConnection, type RawAnswer, requestBytes } from "./http-client.ts";

/** `expect_body` must occur `expect_count` times in the answer. */
export interface LoadRequest {
  readonly body: string;
  readonly expect_status: number;
  readonly expect_body: string;
  readonly expect_count: number;
}

/** Either for `measured_ms` after `warmup_ms`, or until `requests_max` answers. */
export interface LoadOrder {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly requests: readonly LoadRequest[];
  readonly connections: number;
  readonly warmup_ms: number;
  readonly measured_ms: number;
  readonly requests_max: number | null;
}

/** `answers` counts the measured time only, `answers_in_all` also the warm-up. */
export interface LoadResult {
  readonly answers: number;
  readonly answers_in_all: number;
  readonly wrong: number;
  readonly first_wrong: string | null;
  readonly elapsed_ms: number;
  readonly p50_ms: number;
  readonly p90_ms: number;
  readonly p99_ms: number;
  readonly p999_ms: number;
  readonly max_ms: number;
}

export type LoadMessage = { readonly kind: "measuring" } | { readonly kind: "done"; readonly result: LoadResult };

interface PreparedRequest extends Omit<LoadRequest, "body" | "expect_body"> {
  readonly bytes: Buffer;
  readonly expected: Buffer;
}

function isRight(request: PreparedRequest, answer: RawAnswer): boolean {
  if (answer.status !== request.expect_status) return false;
  let found = 0;
  for (let at = answer.body.indexOf(request.expected); at !== -1; at = answer.body.indexOf(request.expected, at + 1)) {
    found += 1;
    if (request.expect_count === 1) return true;
  }
  return found === request.expect_count;
}

class Latencies {
  #values = new Float64Array(1 << 18);
  #count = 0;

  add(value_ms: number): void {
    if (this.#count === this.#values.length) {
      const larger = new Float64Array(this.#values.length * 2);
      larger.set(this.#values);
      this.#values = larger;
    }
    this.#values[this.#count++] = value_ms;
  }

  percentiles(shares: readonly number[]): number[] {
    const sorted = this.#values.subarray(0, this.#count).sort();
    return shares.map((share) => sorted[Math.min(this.#count - 1, Math.ceil(share * this.#count) - 1)] ?? Number.NaN);
  }
}

function run(order: LoadOrder, say: (message: LoadMessage) => void): void {
  const url = new URL(order.url);
  const requests = order.requests.map(
    (request): PreparedRequest => ({
      expect_status: request.expect_status,
      expect_count: request.expect_count,
      expected: Buffer.from(request.expect_body),
      bytes: requestBytes(url, order.headers, request.body),
    }),
  );
  const latencies = new Latencies();
  let next = 0;
  let open = order.connections;
  let inAll = 0;
  let measured = 0;
  let wrong = 0;
  let firstWrong: string | null = null;
  let measuring = order.requests_max !== null;
  let stopping = false;
  let from_ms = performance.now();
  let until_ms = from_ms;

  const finish = () => {
    const [p50_ms = 0, p90_ms = 0, p99_ms = 0, p999_ms = 0, max_ms = 0] = latencies.percentiles([
      0.5, 0.9, 0.99, 0.999, 1,
    ]);
    const result = {
      answers: measured,
      answers_in_all: inAll,
      wrong,
      first_wrong: firstWrong,
      elapsed_ms: until_ms - from_ms,
    };
    say({ kind: "done", result: { ...result, p50_ms, p90_ms, p99_ms, p999_ms, max_ms } });
  };
  const fail = (error: Error) => {
    console.error(`load generator: ${error.message}`);
    process.exit(1);
  };

  const begin = () => {
    let asked = requests[0] as PreparedRequest;
    let asked_ms = 0;
    const ask = () => {
      asked = requests[next++ % requests.length] as PreparedRequest;
      asked_ms = performance.now();
      connection.send(asked.bytes);
    };
    const connection = new LoadConnection(
      url,
      ask,
      (answer) => {
        const now_ms = performance.now();
        inAll += 1;
        if (!isRight(asked, answer)) {
          wrong += 1;
          firstWrong ??= `${answer.status} ${answer.body.toString("utf8", 0, 2000)} (expected ${asked.expect_status} with ${asked.expect_count} × ${asked.expected})`;
        }
        if (measuring) {
          latencies.add(now_ms - asked_ms);
          measured += 1;
          until_ms = now_ms;
          if (order.requests_max !== null && measured + open > order.requests_max) stopping = true;
        }
        if (!stopping) return ask();
        connection.close();
        open -= 1;
        if (open === 0) finish();
      },
      fail,
    );
  };
  for (let n = 0; n < order.connections; n += 1) begin();

  if (order.requests_max !== null) {
    say({ kind: "measuring" });
    return;
  }
  setTimeout(() => {
    measuring = true;
    from_ms = performance.now();
    say({ kind: "measuring" });
    setTimeout(() => {
      stopping = true;
    }, order.measured_ms);
  }, order.warmup_ms);
}

process.on("message", (order: LoadOrder) => run(order, (message) => process.send?.(message)));
process.on("disconnect", () => process.exit(0));
