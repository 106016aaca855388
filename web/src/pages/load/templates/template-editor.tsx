/** One template: its text, its problems, and the most common settings. */
import { Anchor, Button, Group, Title } from "@mantine/core";
import {
  IconArrowLeft,
  IconCircleCheck,
  IconCopy,
  IconDeviceFloppy,
  IconDownload,
  IconLoader2,
  IconPencil,
  IconPlayerPlay,
} from "@tabler/icons-react";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useEffect, useState } from "react";
import { Link, useBlocker } from "react-router";
import type { Template } from "../../../api/gen/types.ts";
import { exportTemplate, readTemplate } from "../../../api/load.ts";
import { Card } from "../../../components/card.tsx";
import { ConfirmDialog } from "../../../components/confirm-dialog.tsx";
import { Loading } from "../../../components/data-table.tsx";
import { Unreadable } from "../../../components/empty.tsx";
import { Failure } from "../../../components/failure.tsx";
import { useRefusedToken } from "../../../components/use-refused-token.ts";
import { formatCount, plural } from "../../../format.ts";
import "./templates.css";
import { PrepareDialog } from "./prepare-dialog.tsx";
import { TemplateForm } from "./template-form.tsx";
import { type TextProblem, withoutPools } from "./template-text.ts";
import { useCopyTemplate, useExportTemplate } from "./use-template-actions.ts";
import { type TemplateDraft, type TemplateSource, useTemplateDraft } from "./use-template-draft.ts";
import { YamlEditor } from "./yaml-editor.tsx";

export function TemplateEditor({ id }: { readonly id: string }) {
  const [turn, setTurn] = useState(0);
  const queries = useQueryClient();
  const { data, error } = useQuery({
    queryKey: ["load-template-text", id],
    queryFn: ({ signal }) => readSource(id, signal),
    staleTime: Number.POSITIVE_INFINITY, // A draft is not replaced while it is being edited.
    gcTime: 0,
    retry: false,
  });
  useRefusedToken(error);
  const reload = async (): Promise<void> => {
    await queries.refetchQueries({ queryKey: ["load-template-text", id] });
    setTurn((before) => before + 1);
  };
  if (data !== undefined) {
    return <Editor key={turn} source={data} onReload={() => void reload()} />;
  }
  const back = { to: "/load/templates", text: "To all templates" };
  const gone = "Somebody may have deleted it.";
  return (
    <div className="card">
      {error === null ? (
        <Loading label="The template" />
      ) : (
        <Unreadable what="template" error={error} gone={gone} back={back} />
      )}
    </div>
  );
}

async function readSource(id: string, signal: AbortSignal): Promise<TemplateSource> {
  const [template, text] = await Promise.all([
    readTemplate(id, signal),
    exportTemplate(id, signal),
  ]);
  return { template, text: template.pools.length === 0 ? text : withoutPools(text) };
}

interface EditorProps {
  readonly source: TemplateSource;
  readonly onReload: () => void;
}

function Editor({ source, onReload }: EditorProps) {
  const { template } = source;
  const draft = useTemplateDraft(source);
  const [goTo, setGoTo] = useState<{ readonly at: number }>();
  const isReadOnly = template.is_built_in;
  return (
    <>
      <EditorHead template={template} draft={draft} />
      {isReadOnly && (
        <p className="note">
          This template comes with Capstan and stays as it is. Copy it to change it.
        </p>
      )}
      {draft.isConflict && <Conflict onReload={onReload} />}
      {draft.saveError !== null && !draft.isConflict && (
        <Failure title="The template was not saved" error={draft.saveError} />
      )}
      <div className="template-editor">
        <div className="card template-text">
          <YamlEditor
            label="Template as YAML"
            value={draft.text}
            isReadOnly={isReadOnly}
            problems={draft.problems}
            onChange={draft.setText}
            goTo={goTo}
          />
        </div>
        <div className="load-stack">
          <Problems draft={draft} onGoTo={setGoTo} />
          <Card title="Settings">
            <div className="card-body">
              <TemplateForm
                text={draft.text}
                isDisabled={isReadOnly || !draft.isReadable}
                onChange={draft.setText}
              />
            </div>
          </Card>
          <Pools template={template} />
        </div>
      </div>
      <LeaveGuard isChanged={draft.isChanged} />
    </>
  );
}

interface EditorHeadProps {
  readonly template: Template;
  readonly draft: TemplateDraft;
}

function EditorHead({ template, draft }: EditorHeadProps) {
  const copying = useCopyTemplate();
  const exporting = useExportTemplate();
  const [isPreparing, setPreparing] = useState(false);
  const { isChanged } = draft;
  return (
    <>
      <Anchor component={Link} to="/load/templates" size="sm" className="load-back">
        <IconArrowLeft size={14} /> Templates
      </Anchor>
      <div className="page-head load-subhead">
        <Title order={2} className="load-title">
          {template.template_name}
        </Title>
        {isChanged && (
          <span className="state dim">
            <IconPencil size={15} className="tone-warn" /> Not saved
          </span>
        )}
        <Group gap="xs" className="load-actions">
          <Button
            variant="default"
            leftSection={<IconDownload size={14} />}
            loading={exporting.isPending}
            onClick={() => exporting.mutate(template)}
          >
            Export
          </Button>
          <Button
            variant="default"
            leftSection={<IconCopy size={14} />}
            loading={copying.isPending}
            disabled={isChanged}
            onClick={() => copying.mutate(template)}
          >
            Copy
          </Button>
          {!template.is_built_in && (
            <Button
              {...(!isChanged && { variant: "default" })}
              leftSection={<IconDeviceFloppy size={14} />}
              loading={draft.isSaving}
              disabled={!isChanged || !draft.isReadable}
              onClick={draft.save}
            >
              Save
            </Button>
          )}
          <Button
            {...(isChanged && { variant: "default" })}
            leftSection={<IconPlayerPlay size={14} />}
            disabled={isChanged}
            title={isChanged ? "Save your changes first" : ""}
            onClick={() => setPreparing(true)}
          >
            Prepare…
          </Button>
        </Group>
      </div>
      <PrepareDialog
        template={isPreparing ? template : undefined}
        onClose={() => setPreparing(false)}
      />
    </>
  );
}

function Conflict({ onReload }: { readonly onReload: () => void }) {
  return (
    <div className="failure load-conflict" role="alert">
      <div>
        <strong>Somebody else saved this template since you opened it</strong>
        <p>
          Yours was not saved, and is still here. Keep what you need of it, load theirs, and make
          your change on that.
        </p>
      </div>
      <Button variant="default" onClick={onReload}>
        Load theirs, drop mine
      </Button>
    </div>
  );
}

interface ProblemsProps {
  readonly draft: TemplateDraft;
  readonly onGoTo: (place: { readonly at: number }) => void;
}

function Problems({ draft, onGoTo }: ProblemsProps) {
  const { problems, isChecking, checkError } = draft;
  const sign = isChecking ? (
    <span className="state dim">
      <IconLoader2 size={15} className="spin" /> Checking…
    </span>
  ) : problems.length === 0 && checkError === null ? (
    <span className="state">
      <IconCircleCheck size={15} className="tone-good" /> None
    </span>
  ) : (
    <span className="dim">{problems.length}</span>
  );
  return (
    <Card title="Problems" aside={<span role="status">{sign}</span>}>
      {checkError !== null && (
        <div className="card-body">
          <Failure title="The template could not be checked" error={checkError} />
        </div>
      )}
      {problems.length > 0 && (
        <ul className="problems" aria-label="Problems">
          {problems.map((problem) => (
            <li key={`${problem.path} ${problem.message}`}>
              <button type="button" onClick={() => onGoTo({ at: problem.from })}>
                <ProblemText problem={problem} />
              </button>
            </li>
          ))}
        </ul>
      )}
    </Card>
  );
}

function ProblemText({ problem: { path, message, line } }: { readonly problem: TextProblem }) {
  return (
    <>
      <span className="problem-place">
        <span className="mono">{path === "" ? "the whole" : path}</span>
        <span className="dim">line {line}</span>
      </span>
      {message}
    </>
  );
}

function Pools({ template: { pools } }: { readonly template: Template }) {
  if (pools.length === 0) return null;
  return (
    <Card title="Pools" aside={<span className="dim">{plural(pools.length, "list")}</span>}>
      <div className="card-body">
        <dl className="facts">
          {pools.map(({ pool, value_count: count }) => (
            <div key={pool} className="pool">
              <dt>{pool}</dt>
              <dd>{formatCount(count)} values</dd>
            </div>
          ))}
        </dl>
        <p className="dim load-hint">
          Kept apart from the text. A list under <code className="mono">pools</code> replaces one.
        </p>
      </div>
    </Card>
  );
}

/** Asks before leaving with unsaved changes. */
function LeaveGuard({ isChanged }: { readonly isChanged: boolean }) {
  const blocker = useBlocker(
    ({ currentLocation, nextLocation }) =>
      isChanged && currentLocation.pathname !== nextLocation.pathname,
  );
  useEffect(() => {
    if (!isChanged) return undefined;
    const ask = (event: BeforeUnloadEvent): void => event.preventDefault();
    window.addEventListener("beforeunload", ask);
    return () => window.removeEventListener("beforeunload", ask);
  }, [isChanged]);
  return (
    <ConfirmDialog
      question={
        blocker.state === "blocked"
          ? {
              title: "Leave without saving",
              consequence: "Your changes to this template are lost.",
              verb: "Leave",
              destroys: true,
              keep: "Stay",
            }
          : undefined
      }
      isPending={false}
      onConfirm={() => blocker.proceed?.()}
      onClose={() => blocker.reset?.()}
    />
  );
}
