import { BYTES, STRING } from "../check/type.ts";
import { type FunctionDeclaration, overload } from "../library.ts";
import { Failure } from "../value/unknown.ts";
import type { Value } from "../value/value.ts";

/** Padding is optional. */
export const ENCODERS: readonly FunctionDeclaration[] = [
  {
    name: "base64.encode",
    style: "global",
    overloads: [overload(STRING, BYTES)],
    implementation: (call, b: Value) => {
      if (!(b instanceof Uint8Array)) return undefined;
      call.charge(b.length >> 2);
      return btoa(Array.from(b, (byte) => String.fromCharCode(byte)).join(""));
    },
  },
  {
    name: "base64.decode",
    style: "global",
    overloads: [overload(BYTES, STRING)],
    implementation: (call, s: Value) => {
      if (typeof s !== "string") return undefined;
      call.charge(s.length >> 2);
      if (!/^[A-Za-z0-9+/]*={0,2}$/.test(s) || s.replace(/=+$/, "").length % 4 === 1)
        return new Failure("this text is not base64");
      return Uint8Array.from(atob(s.replace(/=+$/, "")), (c) => c.charCodeAt(0));
    },
  },
];
