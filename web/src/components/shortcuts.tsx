/**
 * Keys that work anywhere on a page, except while typing: single ones (`?`) and sequences (`g w`).
 */
import { Kbd, Modal, Table } from "@mantine/core";
import { useEffect, useEffectEvent } from "react";

export interface Shortcut {
  /** Keys separated by spaces, with the names of `KeyboardEvent.key`. */
  readonly keys: string;
  readonly does: string;
  readonly run: () => void;
}

const sequenceMs = 1_000;

export function useShortcuts(shortcuts: readonly Shortcut[]): void {
  const onPressed = useEffectEvent((pressed: readonly string[]): boolean => {
    const hit = shortcuts.find(({ keys }) => keys === pressed.join(" ") || keys === pressed.at(-1));
    hit?.run();
    return hit !== undefined;
  });
  useEffect(() => {
    let pressed: readonly string[] = [];
    let pressedAtMs = 0;
    const onKey = (event: KeyboardEvent): void => {
      if (event.ctrlKey || event.metaKey || event.altKey || isBusy(event.target)) return;
      const continued = event.timeStamp - pressedAtMs < sequenceMs;
      pressed = [...(continued ? pressed : []), event.key].slice(-2);
      pressedAtMs = event.timeStamp;
      if (!onPressed(pressed)) return;
      pressed = [];
      event.preventDefault();
    };
    document.addEventListener("keydown", onKey);
    return () => document.removeEventListener("keydown", onKey);
  }, []);
}

/** Whether the user types in a field, or a dialog is open. */
function isBusy(target: EventTarget | null): boolean {
  if (document.querySelector('[role="dialog"]') !== null) return true;
  if (!(target instanceof HTMLElement)) return false;
  return target.isContentEditable || target.closest("input, textarea, select") !== null;
}

export function ShortcutHelp({
  shortcuts,
  opened,
  onClose,
}: {
  readonly shortcuts: readonly Pick<Shortcut, "keys" | "does">[];
  readonly opened: boolean;
  readonly onClose: () => void;
}) {
  return (
    <Modal opened={opened} onClose={onClose} title="Keyboard shortcuts" size="sm">
      <Table verticalSpacing={6} withRowBorders={false}>
        <Table.Tbody>
          {shortcuts.map(({ keys, does }) => (
            <Table.Tr key={keys}>
              <Table.Td className="nowrap" w={130}>
                <Keys keys={keys} />
              </Table.Td>
              <Table.Td>{does}</Table.Td>
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
    </Modal>
  );
}

export function Keys({ keys }: { readonly keys: string }) {
  return keys.split(" ").map((key, index) => (
    // biome-ignore lint/suspicious/noArrayIndexKey: keys are fixed, and one may be there twice.
    <span key={index}>
      {index > 0 && " "}
      <Kbd size="xs">{key}</Kbd>
    </span>
  ));
}
