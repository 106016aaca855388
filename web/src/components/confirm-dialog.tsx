/** Asks before an action that cannot be undone, and explains what it means. */
import { Button, Group, Modal, Text } from "@mantine/core";
import { type ReactNode, useState } from "react";

export interface Question {
  readonly title: string;
  readonly consequence: ReactNode;
  readonly verb: string;
  /** Whether the action loses something. */
  readonly destroys?: boolean;
  readonly keep?: string;
}

interface ConfirmDialogProps {
  /** Undefined when the dialog is closed. */
  readonly question: Question | undefined;
  readonly isPending: boolean;
  readonly onConfirm: () => void;
  readonly onClose: () => void;
}

export function ConfirmDialog({ question, isPending, onConfirm, onClose }: ConfirmDialogProps) {
  // The text stays while the dialog fades out.
  const [last, setLast] = useState(question);
  if (question !== undefined && question.title !== last?.title) setLast(question);
  const shown = question ?? last;
  if (shown === undefined) return null;
  return (
    <Modal opened={question !== undefined} onClose={onClose} title={shown.title} size="sm">
      <Text size="sm" component="div">
        {shown.consequence}
      </Text>
      <Group justify="flex-end" mt="lg" gap="xs">
        <Button variant="default" onClick={onClose}>
          {shown.keep ?? "Keep it as it is"}
        </Button>
        <Button
          data-autofocus
          loading={isPending}
          onClick={onConfirm}
          {...(shown.destroys === true && { color: "red.8" })}
        >
          {shown.verb}
        </Button>
      </Group>
    </Modal>
  );
}
