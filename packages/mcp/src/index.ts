/** A proxy for the Model Context Protocol that gets a decision on each tool call first. */

export { type BridgeOptions, bridgeToServer } from "./http/bridge.ts";
export { type ListenOptions, listenForClients } from "./http/listen.ts";
export { openPinStore, type PinStore } from "./pins/pin-store.ts";
export { LineTooLong } from "./protocol/json-lines.ts";
export { governProcess, type ProcessOptions } from "./stdio/govern-process.ts";
