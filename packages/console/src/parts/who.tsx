/** Who did something. */
import type { Override, Reviewer, User } from "@countersign/contract";
import type { Client } from "@countersign/sdk";
import { useQuery } from "@tanstack/react-query";
import { Fragment } from "react";
import { useClient, useReads } from "../api/session.tsx";
import { Data } from "./data.tsx";

/** The organization's people by their ids. */
async function everybodyOf(client: Client): Promise<ReadonlyMap<string, User>> {
  const everybody = new Map<string, User>();
  let cursor: string | null = null;
  do {
    const page = await client.listPeople({ limit: 200, ...(cursor === null ? {} : { cursor }) });
    for (const user of page.people) everybody.set(user.user_id, user);
    cursor = page.next_cursor;
  } while (cursor !== null);
  return everybody;
}

/**
 * The same, read once for all places that name somebody. `wanted`: false where nobody is to be named. `anew`: also those who
 * have joined since.
 */
export function useEverybody(wanted: boolean, anew = false) {
  const client = useClient();
  const reads = useReads();
  return useQuery({
    queryKey: ["people", "everybody"],
    queryFn: () => everybodyOf(client),
    enabled: reads && wanted,
    staleTime: anew ? 0 : 600_000,
  });
}

/** A person by the e-mail address; a key, and whoever is not of the organization any more, by the id. */
export function Who({ id }: { readonly id: string }) {
  const { data } = useEverybody(id.startsWith("usr_"));
  const address = data?.get(id)?.email;
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

/** Those who decide: everybody of a role, and people one by one. */
export function Reviewers({ reviewers }: { readonly reviewers: readonly Reviewer[] }) {
  if (reviewers.length === 0) return "every reviewer";
  return reviewers.map(({ type, id }, index) => (
    <Fragment key={`${type} ${id}`}>
      {index > 0 && ", "}
      {type === "role" ? `every ${id}` : <Who id={id} />}
    </Fragment>
  ));
}

/** Why somebody has no buttons for a review. */
export function InOtherHands({ reviewers }: { readonly reviewers: readonly Reviewer[] }) {
  return (
    <>
      {"In other hands: "}
      <Reviewers reviewers={reviewers} />
      {reviewers.length > 1 ? " decide." : " decides."}
    </>
  );
}
