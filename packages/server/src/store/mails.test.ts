import { expect, test } from "vitest";
import { testDatabase } from "../testing/database.ts";
import { claimMails, insertMail } from "./mails.ts";

const { db } = await testDatabase();

test("kinds that somebody waits for are claimed before others, in their order, and among equals the longest due", async () => {
  const kinds = [...Array<string>(12).fill("escalations"), "signup", "escalations", "password", "signup"];
  for (const [n, kind] of kinds.entries()) {
    const mail = {
      mail_id: `mail_${String(n).padStart(2, "0")}`,
      kind,
      sealed: "",
      created_at: "2026-01-01T00:00:00Z",
    };
    await insertMail(db.query, mail);
  }
  const claim = async (limit: number) => {
    const mails = await claimMails(db.query, 120, limit, ["password", "signup"]);
    return mails.map(({ mail_id }) => mail_id).sort();
  };
  expect(await claim(1)).toEqual(["mail_14"]);
  expect(await claim(3)).toEqual(["mail_00", "mail_12", "mail_15"]);
  expect(await claim(20)).toHaveLength(12);
  expect(await claim(1)).toEqual([]);
});
