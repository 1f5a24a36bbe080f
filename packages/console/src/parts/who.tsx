/** Who did something. */
import type { Override } from "@countersign/contract";
import type { Client } from "@countersign/sdk";
import { useQuery } from "@tanstack/react-query";
import { useClient, useReads } from "../api/session.tsx";
import { Data } from "./data.tsx";

/** The e-mail addresses of the organization's people by their ids. */
async function addressesOf(client: Client): Promise<ReadonlyMap<string, string>> {
  const addresses = new Map<string, string>();
  let cursor: string | null = null;
  do {
    const page = await client.listPeople({ limit: 200, ...(cursor === null ? {} : { cursor }) });
    for (const { user_id, email } of page.people) addresses.set(user_id, email);
    cursor = page.next_cursor;
  } while (cursor !== null);
  return addresses;
}

/** A person by the e-mail address; a key, and whoever is not of the organization any more, by the id. */
export function Who({ id }: { readonly id: string }) {
  const client = useClient();
  const reads = useReads();
  const { data } = useQuery({
    queryKey: ["people", "addresses"],
    queryFn: () => addressesOf(client),
    enabled: reads && id.startsWith("usr_"),
    staleTime: 600_000,
  });
  const address = data?.get(id);
  return (
    <span className={address === undefined ? "mono small" : "small"} title={id}>
      <Data text={address ?? id} />
    </span>
  );
}

/** Whoever approved an override: one person, or two. */
export function Approvers({ override: { approved_by, seconded_by } }: { readonly override: Override }) {
  return (
    <>
      <Who id={approved_by} />
      {seconded_by !== null && (
        <>
          {" and "}
          <Who id={seconded_by} />
        </>
      )}
    </>
  );
}
