import { expect, test } from "vitest";
import { oneLook } from "./one-look.ts";

function looked(past_late = false) {
  let looks = 0;
  let end: { resolve(value: number): void; reject(error: Error): void };
  const late = new Set<() => void>();
  const after = (_: number, run: () => void) => {
    late.add(run);
    return () => void late.delete(run);
  };
  const look = oneLook({ after }, { wait_ms: 1, past_late }, () => {
    looks += 1;
    return new Promise<number>((resolve, reject) => {
      end = { resolve, reject };
    });
  });
  return { look, looks: () => looks, end: () => end, late };
}

test("callers share a running read, and the next caller starts another", async () => {
  const { look, looks, end, late } = looked();
  const both = [look(), look()];
  end().resolve(1);
  expect(await Promise.all(both)).toEqual([1, 1]);
  const third = look();
  end().resolve(2);
  expect([await third, looks(), late.size]).toEqual([2, 2, 0]);
});

test("a late read is neither awaited nor repeated before it ends", async () => {
  const { look, looks, end, late } = looked();
  const first = look();
  for (const over of late) over();
  expect(await first).toBeNull();
  const second = look();
  end().resolve(1);
  expect([await second, looks(), late.size]).toEqual([1, 1, 0]);
});

test("with past_late, later callers start a new read beside a late one", async () => {
  const { look, looks, end, late } = looked(true);
  const first = look();
  const end_first = end();
  for (const over of late) over();
  expect(await first).toBeNull();
  const second = look();
  const end_second = end();
  end_first.resolve(1);
  const third = look();
  end_second.resolve(2);
  expect([await second, await third, looks(), late.size]).toEqual([2, 2, 2, 0]);
});

test("a failed read fails for all its callers, and the next one begins", async () => {
  const { look, end, late } = looked();
  const both = [look(), look()];
  end().reject(new Error("gone"));
  for (const each of await Promise.allSettled(both)) expect(each).toMatchObject({ reason: { message: "gone" } });
  const next = look();
  end().resolve(1);
  expect([await next, late.size]).toEqual([1, 0]);
});
