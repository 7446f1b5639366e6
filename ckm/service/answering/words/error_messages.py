"""What callers are told of their mistakes, in both languages; see `messages`."""

from __future__ import annotations

__all__ = ["MISTAKES"]

#: Key → English, French, with the signs of a keyboard. Braces are filled in.
MISTAKES: dict[str, tuple[str, str]] = {
    "not_found": ("There is nothing at this address.", "Il n'y a rien à cette adresse."),
    "no_table": ("There is no table “{name}”.", "Il n'y a pas de tableau « {name} »."),
    "no_codelist": (
        "There is no code list “{name}”.",
        "Il n'y a pas de nomenclature « {name} ».",
    ),
    "no_job": ("There is no such job.", "Il n'y a pas de telle demande."),
    "no_variable": (
        "The table has no variable “{name}”.",
        "Le tableau n'a pas de variable « {name} ».",
    ),
    "no_category": (
        "“{variable}” has no category “{name}”.",
        "« {variable} » n'a pas de modalité « {name} ».",
    ),
    "bad_expression": (
        "The selection “{name}” of “{variable}” cannot be read.",
        "La sélection « {name} » de « {variable} » est illisible.",
    ),
    "too_many_patterns": (
        "More than {limit} patterns select from “{variable}”; give codes, or fewer patterns.",
        "Plus de {limit} motifs choisissent dans « {variable} » ; donnez des codes, ou moins.",
    ),
    "nothing_selected": (
        "Nothing of “{variable}” is selected.",
        "Rien n'est sélectionné pour « {variable} ».",
    ),
    "repeated": ("“{name}” is given twice.", "« {name} » est donné deux fois."),
    "bad_codelist": (
        "“{name}” is no code list of “{variable}”.",
        "« {name} » n'est pas une nomenclature de « {variable} ».",
    ),
    "bad_format": (
        "The format “{name}” is unknown; known are {listed}.",
        "Le format « {name} » est inconnu ; sont connus {listed}.",
    ),
    "unfit_format": (
        "The format “{name}” cannot hold this table; take another format.",
        "Le format « {name} » ne peut contenir ce tableau ; prenez un autre format.",
    ),
    "bad_parameter": (
        "The parameter “{name}” is unknown or wrong.",
        "Le paramètre « {name} » est inconnu ou erroné.",
    ),
    "bad_body": (
        "The body of the request cannot be read: {detail}",
        "Le corps de la requête est illisible : {detail}",
    ),
    "bad_request": ("The request is wrong: {detail}", "La requête est erronée : {detail}"),
    "bad_filter": ("The filter is wrong: {detail}", "Le filtre est erroné : {detail}"),
    # --- details of what is wrong ---
    "filter_empty": ("it is empty.", "il est vide."),
    "filter_length": (
        "it has more than {limit} characters.",
        "il a plus de {limit} caractères.",
    ),
    "filter_depth": (
        "it nests more than {limit} levels deep.",
        "il imbrique plus de {limit} niveaux.",
    ),
    "filter_comparisons": (
        "it has more than {limit} comparisons; list values instead.",
        "il a plus de {limit} comparaisons ; énumérez plutôt des valeurs.",
    ),
    "filter_sign": (
        "it cannot be read from character {position}.",
        "il est illisible à partir du caractère {position}.",
    ),
    "filter_expected": (
        "{expected} is needed at character {position}.",
        "il faut {expected} au caractère {position}.",
    ),
    "filter_end": ("“and”, “or” or the end", "« and », « or » ou la fin"),
    "filter_closing": ("a closing parenthesis", "une parenthèse fermante"),
    "filter_opening": ("an opening parenthesis", "une parenthèse ouvrante"),
    "filter_comma": (
        "a comma or a closing parenthesis",
        "une virgule ou une parenthèse fermante",
    ),
    "filter_missing": ("“missing”", "« missing »"),
    "filter_and": ("“and”", "« and »"),
    "filter_comparison": (
        "a comparison such as “>=”",
        "une comparaison telle que « >= »",
    ),
    "filter_column": ("a name", "un nom"),
    "filter_value": (
        "a number, or a text in quotes,",
        "un nombre, ou un texte entre apostrophes,",
    ),
    "filter_unknown": (
        "there is no “{column}” to filter by.",
        "il n'y a pas de « {column} » sur quoi filtrer.",
    ),
    "filter_type": (
        "“{column}” is {kind}, and is compared with {given}.",
        "« {column} » est {kind}, et est comparé à {given}.",
    ),
    "filter_is_integer": ("a whole number", "un nombre entier"),
    "filter_is_number": ("a number", "un nombre"),
    "filter_is_text": ("a text", "un texte"),
    "filter_is_boolean": ("true or false", "« true » ou « false »"),
    "filter_is_true/false": ("true or false", "« true » ou « false »"),
    "filter_is_date": ("a date", "une date"),
    "filter_is_time": ("a time of day", "une heure du jour"),
    "filter_is_other": ("of a kind that cannot be compared", "d'un type sans comparaison"),
    "many_parameters": (
        "it has more than {limit} parameters.",
        "elle a plus de {limit} paramètres.",
    ),
    "many_headers": (
        "it has more than {limit} headers.",
        "elle a plus de {limit} en-têtes.",
    ),
    "two_lengths": (
        "“Transfer-Encoding” goes neither with “Content-Length” nor with HTTP/1.0.",
        "« Transfer-Encoding » ne va ni avec « Content-Length » ni avec HTTP/1.0.",
    ),
    "bad_length": ("its Content-Length.", "son Content-Length."),
    "bad_margins": (
        "{said}",
        "ses marges (margins) ne vont pas avec ses dimensions (dimensions) : {said}",
    ),
    "no_json": ("it is no JSON in UTF-8.", "il n'est pas du JSON en UTF-8."),
    "no_number": ("NaN and Infinity are no JSON.", "NaN et Infinity ne sont pas du JSON."),
    "name_twice": ("a name is given twice.", "un nom est donné deux fois."),
    "too_deep": ("it nests too deep.", "il est trop imbriqué."),
    "bad_field": ("{name}: {said}.", "{name} ({said})."),
    "no_weight": (
        "There are no weighted counts here.",
        "Il n'y a pas d'effectifs pondérés ici.",
    ),
    "method_not_allowed": (
        "This method is not allowed here.",
        "Cette méthode n'est pas admise ici.",
    ),
    "slow_request": (
        "The request took too long to arrive.",
        "La requête a mis trop de temps à arriver.",
    ),
    "too_large": (
        "The request has more than {limit} bytes.",
        "La requête dépasse {limit} octets.",
    ),
    "no_token": (
        "A valid token is needed, in the header “Authorization” after “Bearer”.",
        "Un jeton valide est nécessaire, dans l'en-tête « Authorization » après « Bearer ».",
    ),
    "sign_in_needed": (
        "Only people with a token see tables here: sign in.",
        "Seules les personnes munies d'un jeton voient des tableaux ici : connectez-vous.",
    ),
    "wrong_token": (
        "This is no valid token.",
        "Ce n'est pas un jeton valide.",
    ),
    "stale_form": (
        "The form is out of date, or your browser keeps no cookies; send it again.",
        "Le formulaire est périmé, ou votre navigateur refuse les cookies ; renvoyez-le.",
    ),
    "too_many_attempts": (
        "There were too many wrong tokens; wait {wait} seconds.",
        "Il y a eu trop de jetons erronés ; attendez {wait} secondes.",
    ),
    "no_filters": (
        (
            "Who filters, or ticks categories of a variable that is not shown, needs the role:"
            " {role}. Show the variable, and tick its categories there."
        ),
        (
            "Pour filtrer, ou cocher des modalités d'une variable qui n'est pas affichée, il"
            " faut le rôle : {role}. Affichez la variable et cochez-y ses modalités."
        ),
    ),
    "not_allowed": ("Your role does not allow this.", "Votre rôle ne le permet pas."),
    "too_many_requests": (
        "You have used up your {limit} requests; wait {wait} seconds.",
        "Vous avez épuisé vos {limit} demandes ; attendez {wait} secondes.",
    ),
    "busy": (
        "The service is busy; try again soon.",
        "Le service est occupé ; réessayez bientôt.",
    ),
    "ledger_full": (
        "No more new tables can be recorded; those that were answered before are answered.",
        "Aucun nouveau tableau ne peut être enregistré ; les anciens sont encore servis.",
    ),
    "too_slow": (
        "The table took too long to find.",
        "Le tableau a pris trop de temps.",
    ),
    "stopping": (
        "The service was stopped before the table was found.",
        "Le service a été arrêté avant que le tableau ne soit prêt.",
    ),
    "gone": (
        "The connection was closed before the answer.",
        "La connexion a été fermée avant la réponse.",
    ),
    "too_many_bytes": (
        "The table has more than {limit} bytes.",
        "Le tableau dépasse {limit} octets.",
    ),
    "internal": (
        "The service made a mistake; it has been noted.",
        "Le service a commis une erreur ; elle a été notée.",
    ),
}
