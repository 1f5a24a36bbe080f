import { LoadConnection, requestBytes } from "../http/http-client.ts";
import { bodyOf, type Shape } from "./shapes.ts";

const [address = "", api_key = "", shape = "", count = "100"] = process.argv.slice(2);
const { path, body } = bodyOf(shape as Shape);
const url = new URL(path, address);
const request = requestBytes(url, { "X-API-Key": api_key }, body);
const statuses: Record<number, number> = {};
const begun = performance.now();
let left = Number(count);

for (let n = 0; n < Number(count); n += 1) {
  const connection = new LoadConnection(
    url,
    () => connection.send(request),
    ({ status }) => over(status),
    () => over(0),
  );
  let answered = false;
  const over = (status: number): void => {
    if (answered) return;
    answered = true;
    connection.close();
    statuses[status] = (statuses[status] ?? 0) + 1;
    left -= 1;
    if (left > 0) return;
    console.log(JSON.stringify({ statuses, bytes: request.length, ms: performance.now() - begun }));
    process.exit(0);
  };
}
