import Type, { type Static } from "typebox";
import { oneOf } from "./shapes.ts";

/** Answer of GET /healthz: the process runs. */
export const Health = Type.Object({ status: oneOf(["ok"]) }, { title: "Health" });
export type Health = Static<typeof Health>;

/** Answer of GET /readyz: the database is reachable and migrated. */
export const Readiness = Type.Object({ status: oneOf(["ready"]) }, { title: "Readiness" });
export type Readiness = Static<typeof Readiness>;
