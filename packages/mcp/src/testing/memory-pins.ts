import type { Definition } from "../pins/definition.ts";
import type { PinStore } from "../pins/pin-store.ts";

/** Pins in memory, which several governors may share. */
export function memoryPins() {
  const pins = new Map<string, Definition>();
  const store: PinStore = {
    read: (tool) => pins.get(tool) ?? null,
    pinFirst(tool, definition) {
      const pinned = pins.get(tool) ?? definition;
      pins.set(tool, pinned);
      return pinned;
    },
    replace: (tool, definition) => void pins.set(tool, definition),
  };
  return { pins, store };
}
