// Starts a thread from the sources, because threads do not inherit the TypeScript loader.
import { register } from "tsx/esm/api";

register();
await import(`./${process.argv[2]}`);
