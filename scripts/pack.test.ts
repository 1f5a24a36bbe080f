import { expect, it } from "vitest";
import { checksumLines } from "./pack.ts";

it("writes checksums that sha256sum can check, in the order of the names", () => {
  const files = [
    { name: "b.tgz", bytes: Buffer.from("b") },
    { name: "a.tgz", bytes: Buffer.from("") },
  ];
  expect(checksumLines(files)).toBe(
    "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855  a.tgz\n" +
      "3e23e8160039594a33894f6564e1b1348bbd7a0088d42c4acb73eeaed59c009d  b.tgz\n",
  );
});
