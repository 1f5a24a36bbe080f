/** Run for every test file. Files share their modules, so a hook at the top of a module would be that of the first file alone. */
import { afterAll } from "vitest";
import { cleanUp } from "../packages/server/src/testing/when-file-is-done.ts";

afterAll(cleanUp);
