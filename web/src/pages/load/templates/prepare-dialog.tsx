/** Asks for a run's target and password, and prepares the run. It then waits for its start. */
import {
  Button,
  Checkbox,
  Group,
  Modal,
  PasswordInput,
  Skeleton,
  Stack,
  TextInput,
} from "@mantine/core";
import { useMutation, useQuery } from "@tanstack/react-query";
import { type FormEvent, useState } from "react";
import { useNavigate } from "react-router";
import type { Template } from "../../../api/gen/types.ts";
import { type PrepareRequest, prepareRun, readTemplate } from "../../../api/load.ts";
import { Failure } from "../../../components/failure.tsx";
import { runHref } from "../links.ts";
import { foreignHost } from "./foreign-host.ts";

interface PrepareDialogProps {
  /** Undefined when the dialog is closed. */
  readonly template: Pick<Template, "template_id" | "template_name"> | undefined;
  readonly onClose: () => void;
}

export function PrepareDialog({ template, onClose }: PrepareDialogProps) {
  const id = template?.template_id;
  const { data, error } = useQuery({
    queryKey: ["load-template", id],
    queryFn: ({ signal }) => readTemplate(id ?? "", signal),
    enabled: id !== undefined,
    retry: false,
  });
  return (
    <Modal
      opened={template !== undefined}
      onClose={onClose}
      title={`Prepare ${template?.template_name ?? "a run"}`}
      size="md"
    >
      {data === undefined || id === undefined ? (
        error === null ? (
          <Skeleton height={160} />
        ) : (
          <Failure title="The template cannot be read" error={error} />
        )
      ) : (
        <PrepareForm key={id} template={data} />
      )}
    </Modal>
  );
}

function PrepareForm({ template }: { readonly template: Template }) {
  const { target } = template.config;
  const navigate = useNavigate();
  const [name, setName] = useState(template.template_name);
  const [url, setUrl] = useState(target.url);
  const [password, setPassword] = useState("");
  const [loadsData, setLoadsData] = useState(false);
  const [isAllowed, setAllowed] = useState(false);
  const isFile = /^(sqlite|duckdb):/.test(url);
  const host = foreignHost(url, target.allowed_hosts);
  const preparing = useMutation({
    mutationFn: (request: PrepareRequest) => prepareRun(template.template_id, request),
    onSuccess: (runId) => void navigate(runHref(runId)),
  });
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    preparing.mutate({
      test_name: name.trim() === "" ? template.template_name : name.trim(),
      ...(url !== target.url && { target_url: url }),
      ...(password !== "" && { password }),
      ...(loadsData && { load_data: true }),
      ...(isAllowed && host !== undefined && { allowed_hosts: [host] }),
    });
  };
  return (
    <form onSubmit={submit}>
      <Stack gap="sm">
        <TextInput
          label="Name of the run"
          value={name}
          onChange={(event) => setName(event.currentTarget.value)}
        />
        <TextInput
          label="Target"
          description={
            isFile
              ? "A file without a directory is in the data directory."
              : "Without its password."
          }
          classNames={{ input: "mono" }}
          data-autofocus
          value={url}
          onChange={(event) => setUrl(event.currentTarget.value)}
        />
        {host !== undefined && (
          <Checkbox
            label={`Load ${host}: it is not this machine`}
            description="Nobody load-tests production by a typo."
            checked={isAllowed}
            onChange={(event) => setAllowed(event.currentTarget.checked)}
          />
        )}
        {!isFile && (
          <PasswordInput
            label="Password"
            description={
              target.password_env === null
                ? "Kept sealed, for this run alone. Empty: none."
                : `Empty: the coordinator's environment variable ${target.password_env}.`
            }
            autoComplete="off"
            value={password}
            onChange={(event) => setPassword(event.currentTarget.value)}
          />
        )}
        {target.load_sql.length > 0 && (
          <Checkbox
            label="Load data first"
            description="Drops the template's own tables if they are there, makes them anew and fills them."
            checked={loadsData}
            onChange={(event) => setLoadsData(event.currentTarget.checked)}
          />
        )}
      </Stack>
      {preparing.error !== null && (
        <Failure title="The run was not prepared" error={preparing.error} />
      )}
      <Group justify="space-between" mt="lg" gap="xs">
        <span className="dim prepare-note">
          {preparing.isPending && loadsData ? "Loading data…" : "Nothing is started yet."}
        </span>
        <Button type="submit" loading={preparing.isPending}>
          Prepare
        </Button>
      </Group>
    </form>
  );
}
