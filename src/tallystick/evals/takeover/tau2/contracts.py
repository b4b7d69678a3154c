"""The contracts of the two domains: our reading of the tools, and the tools' own argument schemas.

What a tool changes, how its answer says so, and what may happen once only, is written in `retail.yaml` and
`airline.yaml` from its name, arguments and description. The JSON Schema of its arguments is read from the installed
package, without the descriptions: a contract in a ledger then holds the interface and none of the benchmark's texts.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib import resources
from typing import Any, Final, Literal, get_args

from tallystick.contracts import Contract, build
from tallystick.contracts.yamltext import read
from tallystick.errors import InputError
from tallystick.evals.tau2.package import of

Domain = Literal["retail", "airline"]
DOMAINS: Final[tuple[Domain, ...]] = get_args(Domain)


@cache
def contract_of(domain: Domain) -> Contract:
    """Return the contract of a domain's tools.

    Raises:
        InputError: `inspect-evals` is not installed, or its tools are not those the contract was written for.
    """
    stated = reading(domain)
    schemas = public_schemas(domain)
    tools = stated["tools"]
    if set(tools) != set(schemas):
        odd = sorted(set(tools) ^ set(schemas))
        raise InputError(
            f"the {domain} tools of the installed package are other ones: {', '.join(odd)}",
            where="inspect-evals",
            fix="a version that the contract was written for, such as 0.26.0",
        )
    return build({**stated, "tools": {name: {"schema": schemas[name], **tool} for name, tool in tools.items()}})


def reading(domain: Domain) -> dict[str, Any]:
    """Return what is written of a domain's tools, without their schemas."""
    text = resources.files("tallystick.evals.takeover.tau2").joinpath(f"{domain}.yaml").read_text(encoding="utf-8")
    found: dict[str, Any] = read(text, f"{domain}.yaml").value
    return found


@cache
def public_schemas(domain: Domain) -> Mapping[str, Any]:
    """Return tool → JSON Schema of its arguments, as the package shows it to a model, without any description.

    Raises:
        InputError: `inspect-evals` is not installed.
    """
    made = getattr(of(f"{domain}.tools"), f"all_{domain}_tools")
    from inspect_ai.tool import ToolDef  # noqa: PLC0415 - an extra

    tools = [ToolDef(make()) for make in made]
    return {t.name: _bare(t.parameters.model_dump(exclude_none=True, by_alias=True)) for t in tools}


def _bare(schema: Any) -> Any:
    """Return a schema without descriptions; one of a member that is called `description` is no text and stays."""
    if isinstance(schema, dict):
        return {k: _bare(v) for k, v in schema.items() if not (k == "description" and isinstance(v, str))}
    return [_bare(item) for item in schema] if isinstance(schema, list) else schema
