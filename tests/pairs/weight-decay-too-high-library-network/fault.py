from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler

X, y = load_digits(return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=1, stratify=y)
model = make_pipeline(MinMaxScaler(), MLPClassifier((50,), alpha=40.0, learning_rate_init=0.003, max_iter=60, random_state=0))
model.fit(X_train, y_train)
print(model.score(X_test, y_test))
