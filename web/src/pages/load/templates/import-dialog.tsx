/** Imports a template from a file or pasted text. */
import { Button, FileButton, Group, Modal, Textarea } from "@mantine/core";
import { IconUpload } from "@tabler/icons-react";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { useNavigate } from "react-router";
import { importTemplate } from "../../../api/load.ts";
import { Failure } from "../../../components/failure.tsx";
import { toastDone } from "../../../components/toasts.tsx";
import { templateHref } from "../links.ts";

const example = `name: checkout
target: postgres://load@localhost/shop
workload:
  preset: READ_HEAVY
  concurrent_connections: 16
  duration_seconds: 60
slos:
  - p95 < 20 ms`;

interface ImportDialogProps {
  readonly opened: boolean;
  readonly onClose: () => void;
}

export function ImportDialog({ opened, onClose }: ImportDialogProps) {
  const [text, setText] = useState("");
  const navigate = useNavigate();
  const queries = useQueryClient();
  const importing = useMutation({
    mutationFn: importTemplate,
    onSuccess: async ({ template_id, template_name }) => {
      toastDone(template_name, "Imported.");
      setText("");
      onClose();
      await queries.invalidateQueries({ queryKey: ["load-templates"] });
      await navigate(templateHref(template_id));
    },
  });
  const change = (next: string): void => {
    importing.reset();
    setText(next);
  };
  const read = async (file: File | null): Promise<void> => {
    if (file !== null) change(await file.text());
  };
  return (
    <Modal opened={opened} onClose={onClose} title="Import a template" size="lg">
      <Textarea
        label="YAML"
        description="Pasted, or from a file. Ten lines are enough; everything left out has a default."
        placeholder={example}
        classNames={{ input: "mono" }}
        autosize
        minRows={10}
        maxRows={22}
        spellCheck={false}
        data-autofocus
        value={text}
        onChange={(event) => change(event.currentTarget.value)}
      />
      {importing.error !== null && (
        <Failure title="The template was not imported" error={importing.error} />
      )}
      <Group justify="space-between" mt="lg" gap="xs">
        <FileButton accept=".yaml,.yml,.json,text/yaml" onChange={(file) => void read(file)}>
          {(props) => (
            <Button variant="default" leftSection={<IconUpload size={14} />} {...props}>
              Choose a file
            </Button>
          )}
        </FileButton>
        <Button
          disabled={text.trim() === ""}
          loading={importing.isPending}
          onClick={() => importing.mutate(text)}
        >
          Import
        </Button>
      </Group>
    </Modal>
  );
}
