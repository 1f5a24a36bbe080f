// The start of a thread when the service runs from its sources, because a thread does not inherit the TypeScript
// loader.
import { register } from "tsx/esm/api";

register();
await import(`./${process.argv[2]}`);
