import { expect, test } from "vitest";
import { hostUrls } from "./host-urls.ts";

const lists: [url: string, each: readonly string[] | null][] = [
  ["postgres://me:pw@a:5433/x?sslmode=require", ["postgres://me:pw@a:5433/x?sslmode=require"]],
  ["postgres://me:p,w@a:5432,b/x", ["postgres://me:p,w@a:5432/x", "postgres://me:p,w@b/x"]],
  [
    "postgresql://a,[::1]:5433/x?sslmode=require",
    ["postgresql://a/x?sslmode=require", "postgresql://[::1]:5433/x?sslmode=require"],
  ],
  ["postgres://a,b", ["postgres://a", "postgres://b"]],
  ["postgres://a,b/x?port=5433", ["postgres://a/x?port=5433", "postgres://b/x?port=5433"]],
  [
    "postgres://me@/x?host=/run/a,b&port=1,2",
    ["postgres://me@/x?host=%2Frun%2Fa&port=1", "postgres://me@/x?host=b&port=2"],
  ],
  ["postgres://elsewhere/x?host=a,b", ["postgres:///x?host=a", "postgres:///x?host=b"]],
  ["postgres://me@localhost/x?host=%2Frun%2Fa&port=1", ["postgres://me@localhost/x?host=%2Frun%2Fa&port=1"]],
  ["postgres://a,,b/x", null],
  ["postgres://a,b,/x", null],
  ["postgres://a,b,c/x?port=1,2", null],
  ["postgres://a/x?port=1,2", null],
];

test.each(lists)("%s lists its servers as libpq reads it", (url, each) => {
  expect(hostUrls(url)).toEqual(each);
});
